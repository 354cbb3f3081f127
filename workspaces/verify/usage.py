"""Calls of chat models: circuits and sums say what the calls themselves say."""

from workspaces.verify.findings import Check, rows

# Calls that were given up say nothing about the service. Rows of old calls are removed, but for
# the last hundred of each circuit.
CIRCUIT = """
SELECT c.id, c.provider FROM workspaces_circuit AS c CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE outcome = 'failed') AS failed FROM (
    SELECT outcome FROM workspaces_modelcall AS m
     WHERE m.workspace_id = c.workspace_id AND m.provider = c.provider
       AND m.outcome <> 'cancelled'
     ORDER BY m.circuit_seq DESC LIMIT 3) AS last) AS seen
 WHERE c.workspace_id = %(workspace)s AND (c.opened_at IS NOT NULL) <> (seen.failed = 3)
"""
# Of the last week, whose rows are all there.
SUMS = """
SELECT d.id, d.day || ' ' || d.purpose FROM workspaces_usageday AS d CROSS JOIN LATERAL (
  SELECT count(*) AS calls, coalesce(sum(input_tokens), 0) AS input,
         coalesce(sum(output_tokens), 0) AS output, coalesce(sum(cost), 0) AS cost
    FROM workspaces_modelcall AS m
   WHERE m.workspace_id = d.workspace_id AND (m.at AT TIME ZONE 'UTC')::date = d.day
     AND m.purpose = d.purpose AND m.provider = d.provider AND m.model = d.model) AS taken
 WHERE d.workspace_id = %(workspace)s AND d.day > (now() AT TIME ZONE 'UTC')::date - 7
   AND (d.calls, d.input_tokens, d.output_tokens, d.cost)
       <> (taken.calls, taken.input, taken.output, taken.cost)
"""

CHECKS = (
    Check(
        "L10",
        "A circuit is open exactly when the last three calls of its service failed.",
        rows("circuit", CIRCUIT),
        "The next call that is answered closes it, and the third failure opens it.",
    ),
    Check(
        "D5",
        "The usage of a day is the sum of its calls.",
        rows("usage_day", SUMS),
        "Find what changed the rows; quotas of the day rest on the sum.",
    ),
)

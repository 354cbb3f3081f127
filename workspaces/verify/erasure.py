"""Erasure: nothing that was erased has words, a file, a place in search or a summary above it."""

# ruff: noqa: S608 - queries are put together from the constants of these modules only

from collections.abc import Iterator

from holamem.database.scope import system_scope
from workspaces.bodies import body_storage
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.erasure.entry import journal_directory
from workspaces.verify.findings import Check, Violation, rows

ERASE_AGAIN = "Run `manage.py replay_erasures`, or retry the job `erase` from the jobs page."
LATE_MINUTES = 10  # an erasure is complete within a minute of work
GONE = "('erasing', 'erased')"
# Summaries that were written from what is erased, directly or through others.
COVERING = f"""
WITH RECURSIVE edges AS MATERIALIZED (
  SELECT s.id, child FROM workspaces_summarynode AS s
   CROSS JOIN LATERAL unnest(s.child_ids) AS child
   WHERE s.workspace_id = %(workspace)s AND EXISTS (SELECT 1 FROM workspaces_sourceleaf AS l
     WHERE l.workspace_id = s.workspace_id AND l.tree_id = s.tree_id AND l.status IN {GONE})),
covering AS (
  SELECT e.id FROM edges AS e JOIN workspaces_sourceleaf AS l
    ON l.id = e.child AND l.workspace_id = %(workspace)s AND l.status IN {GONE}
  UNION SELECT above.id FROM edges AS above JOIN covering ON above.child = covering.id)
"""


def remaining_files(workspace: Workspace) -> Iterator[Violation]:
    storage = body_storage()
    with system_scope():
        erased = workspace.leaves.filter(status=SourceLeaf.Status.ERASED)
        found = list(erased.values_list("id", "body_path"))
    for leaf_id, path in found:
        if storage.exists(path):
            yield Violation(f"leaf:{leaf_id}", path)


def forgotten_erasures(workspace: Workspace) -> Iterator[Violation]:
    """Entries of the journal beside the bodies that an older database, put back, knows nothing of."""
    directory = journal_directory(workspace)
    try:
        _, names = body_storage().listdir(directory)
    except FileNotFoundError:
        return
    with system_scope():
        known = {str(row) for row in workspace.erasures.values_list("id", flat=True)}
    for name in sorted(names):
        if name.endswith(".json") and name.removesuffix(".json") not in known:
            yield Violation(f"erasure:{name.removesuffix('.json')}", f"{directory}/{name}")


CHECKS = (
    Check(
        "S5",
        "An erased leaf has no words.",
        rows(
            "leaf",
            "SELECT id FROM workspaces_sourceleaf WHERE workspace_id = %(workspace)s"
            f" AND status IN {GONE} AND (title || summary || actor || subject_key <> ''"
            " OR cardinality(labels) > 0)",
        ),
        ERASE_AGAIN,
    ),
    Check("S5", "An erased leaf has no body file.", remaining_files, ERASE_AGAIN),
    Check(
        "S5",
        "An erased leaf mentions no entity.",
        rows(
            "leaf",
            "SELECT l.id FROM workspaces_sourceleaf AS l JOIN workspaces_leafentity AS k"
            " ON k.leaf_id = l.id WHERE l.workspace_id = %(workspace)s AND l.status = 'erased'",
        ),
        ERASE_AGAIN,
    ),
    Check(
        "S5",
        "A leaf that is erased, or about to be, is not in the search index.",
        rows(
            "node",
            "SELECT l.id FROM workspaces_sourceleaf AS l"
            f" WHERE l.workspace_id = %(workspace)s AND l.status IN {GONE}"
            " AND (EXISTS (SELECT 1 FROM workspaces_vectorentry AS v"
            " WHERE v.workspace_id = l.workspace_id AND v.node_id = l.id)"
            " OR EXISTS (SELECT 1 FROM workspaces_lexemeentry AS x"
            " WHERE x.workspace_id = l.workspace_id AND x.node_id = l.id))",
        ),
        "`verify --fix` removes the entries.",
    ),
    Check(
        "S5",
        "No summary that is read was written from what is erased.",
        rows(
            "summary",
            f"{COVERING} SELECT s.id FROM workspaces_summarynode AS s JOIN covering AS c"
            " ON c.id = s.id WHERE s.status IN ('sealed', 'stale') OR NOT s.withheld"
            " OR s.title || s.summary <> ''",
        ),
        ERASE_AGAIN,
    ),
    Check(
        "S5",
        "The log has no text of an erased chunk.",
        rows(
            "chunk",
            "SELECT c.id FROM workspaces_chunk AS c"
            " JOIN workspaces_event AS e ON e.id = c.event_id AND e.workspace_id = c.workspace_id"
            " WHERE c.workspace_id = %(workspace)s AND c.reason = 'erased' AND (c.text <> ''"
            " OR substr(e.payload_text, c.start + 1, c.\"end\" - c.start) ~ '[^█]')",
        ),
        ERASE_AGAIN,
    ),
    Check(
        "S8",
        "An end user that is erased has no name, no key and no memory.",
        rows(
            "end_user",
            "SELECT u.id FROM workspaces_enduser AS u WHERE u.workspace_id = %(workspace)s"
            " AND u.erased_at IS NOT NULL AND (u.ref <> 'erased:' || u.id OR u.name <> ''"
            " OR u.metadata <> '{}'"
            " OR EXISTS (SELECT 1 FROM workspaces_apikey AS k WHERE k.workspace_id = u.workspace_id"
            " AND k.end_user_id = u.id AND k.revoked_at IS NULL)"
            " OR EXISTS (SELECT 1 FROM workspaces_event AS e WHERE e.workspace_id = u.workspace_id"
            " AND e.scope_id = u.id AND e.payload_text <> '')"
            " OR EXISTS (SELECT 1 FROM workspaces_sourceleaf AS l"
            " WHERE l.workspace_id = u.workspace_id AND l.scope_id = u.id"
            f" AND l.status NOT IN {GONE}))",
        ),
        ERASE_AGAIN,
    ),
    Check(
        "S6",
        "An erasure is complete, or was asked for a moment ago.",
        rows(
            "erasure",
            "SELECT id, status FROM workspaces_erasure WHERE workspace_id = %(workspace)s"
            " AND status <> 'complete'"
            f" AND requested_at < now() - make_interval(mins => {LATE_MINUTES})",
        ),
        "Start a worker; if its job is parked, remove the cause and retry it.",
    ),
    Check(
        "S6",
        "An erasure that is not complete has its job.",
        rows(
            "erasure",
            "SELECT e.id FROM workspaces_erasure AS e WHERE e.workspace_id = %(workspace)s"
            " AND e.status <> 'complete' AND NOT EXISTS (SELECT 1 FROM workspaces_job AS j"
            " WHERE j.topic = 'erase' AND j.target_id = e.id"
            " AND j.state IN ('ready', 'running', 'parked'))",
        ),
        "Run `manage.py replay_erasures`.",
    ),
    Check(
        "S6",
        "An erasure that is recorded beside the bodies is known to the database.",
        forgotten_erasures,
        "Run `manage.py replay_erasures`.",
    ),
    Check(
        "S6",
        "A leaf that is erased, or about to be, has its erasure; a complete one left none behind.",
        rows(
            "leaf",
            "SELECT l.id, l.status FROM workspaces_sourceleaf AS l"
            f" WHERE l.workspace_id = %(workspace)s AND l.status IN {GONE}"
            " AND NOT EXISTS (SELECT 1 FROM workspaces_erasedtext AS t"
            " JOIN workspaces_erasure AS e ON e.id = t.erasure_id"
            " WHERE t.workspace_id = l.workspace_id AND t.leaf_id = l.id"
            " AND (l.status = 'erased' OR e.status <> 'complete'))",
        ),
        "Erase the leaf again.",
    ),
)

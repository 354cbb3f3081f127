"""The invariants of the agent runtime."""

# ruff: noqa: S608 - queries are put together from the constants of this module only

from collections.abc import Iterator

from agents.hot.text_memory import prefix_sha256
from agents.models.runs import ACTIVE_RUN, ENDED_RUN, Run, RunEvent
from agents.services.runs import ENDINGS, config_digest
from agents.services.states import LEGAL_MOVES, STATE_AFTER
from agents.tools.settling import OPEN
from holamem.database.scope import system_scope
from workspaces.models.tenancy import Workspace
from workspaces.verify.findings import Check, Severity, Violation, rows
from workspaces.verify.run import register_checks

RESTORE = "Restore the session's rows from a backup."
CANCEL = "Cancel the run; start it again as a new one."


def _words(values: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"'{value}'" for value in values)


ACTIVE, ENDED = _words(ACTIVE_RUN), _words(ENDED_RUN)
TERMINAL = _words(sorted(str(name) for name in ENDINGS.values()))
OPEN_CALLS = _words([str(status) for status in OPEN])


def _legal_pairs() -> list[tuple[str, str]]:
    """Of events that follow each other; asking for a cancel is a move without an event."""
    through = Run.Status.CANCELLING
    return [
        (first, second)
        for first, before in STATE_AFTER.items()
        for second, after in STATE_AFTER.items()
        if after in LEGAL_MOVES[before]
        or (through in LEGAL_MOVES[before] and after in LEGAL_MOVES[through])
    ]


PAIRS = ", ".join(f"('{first}', '{second}')" for first, second in _legal_pairs())
STATES = ", ".join(f"('{event}', '{state}')" for event, state in STATE_AFTER.items())

_ONE_ACTIVE = (
    "SELECT session_id FROM agents_run WHERE workspace_id = %(workspace)s"
    f" AND status IN ({ACTIVE}) GROUP BY session_id HAVING count(*) > 1"
)
_SESSION_NAMES_ITS_RUN = (
    "SELECT s.id FROM agents_session AS s LEFT JOIN agents_run AS r ON r.session_id = s.id"
    f" AND r.status IN ({ACTIVE}) WHERE s.workspace_id = %(workspace)s"
    " AND s.active_run_id IS DISTINCT FROM r.id"
)
_NUMBERED = (
    "SELECT s.id, s.last_event_seq FROM agents_session AS s LEFT JOIN agents_runevent AS e"
    " ON e.session_id = s.id WHERE s.workspace_id = %(workspace)s GROUP BY s.id"
    " HAVING count(e.id) <> s.last_event_seq OR coalesce(max(e.seq), 0) <> s.last_event_seq"
    " OR coalesce(min(e.seq), 1) <> 1"
)
_ENDS_ONCE = (
    "SELECT r.id FROM agents_run AS r LEFT JOIN agents_runevent AS e ON e.run_id = r.id"
    " AND e.session_id = r.session_id WHERE r.workspace_id = %(workspace)s"
    f" GROUP BY r.id HAVING count(e.id) FILTER (WHERE e.type IN ({TERMINAL}))"
    f" <> CASE WHEN r.status IN ({ENDED}) THEN 1 ELSE 0 END"
    f" OR (r.status IN ({ENDED}) AND max(e.seq) IS DISTINCT FROM"
    f" max(e.seq) FILTER (WHERE e.type IN ({TERMINAL})))"
)
_NOTHING_OPEN = (
    f"SELECT r.id FROM agents_run AS r WHERE r.workspace_id = %(workspace)s AND r.status IN ({ENDED})"
    " AND (r.ended_at IS NULL OR r.stop_reason = ''"
    " OR EXISTS (SELECT 1 FROM agents_approval AS a WHERE a.run_id = r.id AND a.status = 'pending')"
    " OR EXISTS (SELECT 1 FROM agents_toolcall AS c WHERE c.run_id = r.id"
    f" AND c.status IN ({OPEN_CALLS})))"
)
_LEGAL_MOVES = (
    "WITH told AS (SELECT run_id, seq, type, lag(type) OVER (PARTITION BY run_id ORDER BY seq)"
    " AS before, lead(type) OVER (PARTITION BY run_id ORDER BY seq) AS after"
    " FROM agents_runevent WHERE workspace_id = %(workspace)s AND run_id IS NOT NULL"
    f" AND type IN (SELECT event FROM (VALUES {STATES}) AS v (event, state)))"
    " SELECT t.run_id, concat_ws(' ', t.before, t.type) FROM told AS t"
    f" LEFT JOIN (VALUES {STATES}) AS v (event, state) ON v.event = t.type"
    " JOIN agents_run AS r ON r.id = t.run_id WHERE"
    " (t.before IS NULL AND t.type <> 'run.created') OR (t.before IS NOT NULL"
    f" AND (t.before, t.type) NOT IN (VALUES {PAIRS}))"
    " OR (t.after IS NULL AND v.state <> CASE r.status WHEN 'cancelling' THEN 'running'"
    " ELSE r.status END)"
)
_WAITS_FOR_ONE = (
    "SELECT r.id, count(a.id) FROM agents_run AS r LEFT JOIN agents_approval AS a"
    " ON a.run_id = r.id AND a.status = 'pending' WHERE r.workspace_id = %(workspace)s"
    " GROUP BY r.id HAVING count(a.id)"
    " <> CASE WHEN r.status = 'waiting_approval' THEN 1 ELSE 0 END"
)
_ONE_RESULT = (
    "SELECT c.id, c.status FROM agents_toolcall AS c LEFT JOIN agents_message AS m"
    " ON m.workspace_id = c.workspace_id AND m.run_id = c.run_id AND m.turn_id = c.turn_id"
    " AND m.tool_call_id = c.call_id AND m.role = 'tool' WHERE c.workspace_id = %(workspace)s"
    " GROUP BY c.id HAVING count(m.id)"
    f" <> CASE WHEN c.status IN ({OPEN_CALLS}) THEN 0 ELSE 1 END"
    " OR (c.status = 'denied' AND c.started_at IS NOT NULL)"
)
# By the numbers of the events: the clocks of two machines may differ.
_APPROVED_FIRST = (
    "SELECT c.id FROM agents_toolcall AS c JOIN agents_run AS r ON r.id = c.run_id"
    " WHERE c.workspace_id = %(workspace)s AND c.needs_approval AND c.started_at IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM agents_runevent AS e WHERE e.session_id = r.session_id"
    f" AND e.run_id = r.id AND e.type = '{RunEvent.Type.APPROVAL_DECIDED}'"
    " AND e.payload -> 'decisions' @> jsonb_build_array(jsonb_build_object("
    "'tool_call_id', c.id::text, 'status', 'approved'))"
    " AND EXISTS (SELECT 1 FROM agents_approval AS a WHERE a.run_id = r.id"
    " AND a.id::text = e.payload ->> 'approval_id' AND a.status = 'approved')"
    " AND e.seq < coalesce((SELECT min(t.seq) FROM agents_runevent AS t"
    f" WHERE t.session_id = r.session_id AND t.type = '{RunEvent.Type.TOOL_RESULT}'"
    " AND t.payload ->> 'tool_call_id' = c.id::text), e.seq + 1))"
)
_MESSAGE_HAS_EVENT = (
    "SELECT m.id FROM agents_message AS m LEFT JOIN agents_runevent AS e"
    " ON e.session_id = m.session_id AND e.seq = m.event_seq"
    " WHERE m.workspace_id = %(workspace)s AND e.id IS NULL"
)
_PREFIX_STAYS = (
    "SELECT m.id FROM agents_message AS m JOIN agents_session AS s ON s.id = m.session_id"
    " WHERE m.workspace_id = %(workspace)s AND m.prefix_sha256 <> ''"
    " AND m.prefix_sha256 <> s.frozen_index_sha256 AND m.event_seq > coalesce(("
    "SELECT max(e.seq) FROM agents_runevent AS e WHERE e.session_id = s.id"
    f" AND e.type = '{RunEvent.Type.CONTEXT_COMPACTED}'), 0)"
)
_SUMMARY_WITHIN = (
    "SELECT s.id FROM agents_session AS s LEFT JOIN agents_compactioncheckpoint AS c"
    " ON c.session_id = s.id WHERE s.workspace_id = %(workspace)s GROUP BY s.id"
    " HAVING coalesce(max(c.base_event_seq), 0) <> s.compaction_seq"
    " OR s.compaction_seq > s.last_event_seq"
)
_NOTHING_DELETED = (
    "SELECT e.id, e.type FROM agents_runevent AS e WHERE e.workspace_id = %(workspace)s"
    f" AND e.type IN ('{RunEvent.Type.RUN_CREATED}', '{RunEvent.Type.ASSISTANT_MESSAGE}',"
    f" '{RunEvent.Type.MESSAGE_DELETED}') AND NOT EXISTS (SELECT 1 FROM agents_message AS m"
    " WHERE m.session_id = e.session_id AND m.id::text ="
    " coalesce(e.payload ->> 'message_id', e.payload ->> 'trigger_message_id'))"
)
# Calls that ended after their run, which did not wait for them, may be counted or not.
_TOKENS_ADD_UP = (
    "SELECT r.id FROM agents_run AS r LEFT JOIN workspaces_modelcall AS c ON c.run_id = r.id"
    f" WHERE r.workspace_id = %(workspace)s AND r.status IN ({ENDED}) GROUP BY r.id"
    " HAVING r.input_tokens > coalesce(sum(c.input_tokens), 0)"
    " OR r.output_tokens > coalesce(sum(c.output_tokens), 0)"
    " OR r.input_tokens < coalesce(sum(c.input_tokens) FILTER (WHERE c.at <= r.ended_at), 0)"
    " OR r.output_tokens < coalesce(sum(c.output_tokens) FILTER (WHERE c.at <= r.ended_at), 0)"
)


def changed_configs(workspace: Workspace) -> Iterator[Violation]:
    with system_scope():
        for run in workspace.runs.only("id", "config", "config_sha256").iterator():
            if config_digest(run.config) != run.config_sha256:
                yield Violation(f"run:{run.id}")


def changed_prefixes(workspace: Workspace) -> Iterator[Violation]:
    """An erasure empties the indexes and leaves the hash of what stood there."""
    with system_scope():
        for session in workspace.sessions.exclude(frozen_index_sha256="").iterator():
            user, shared = session.frozen_user_index, session.frozen_workspace_index
            digest = prefix_sha256(user=user, workspace=shared)
            if (user or shared) and digest != session.frozen_index_sha256:
                yield Violation(f"session:{session.id}")


CHECKS = (
    Check("R1", "A session has one active run at most.", rows("session", _ONE_ACTIVE), CANCEL),
    Check(
        "R2",
        "A session names its active run, and no other.",
        rows("session", _SESSION_NAMES_ITS_RUN),
        CANCEL,
    ),
    Check(
        "R3",
        "A session's events are numbered from 1 without a gap.",
        rows("session", _NUMBERED),
        RESTORE,
    ),
    Check(
        "R4",
        "A run that ended has one event that says so, and none after it.",
        rows("run", _ENDS_ONCE),
        RESTORE,
    ),
    Check(
        "R5", "A run that ended left nothing open.", rows("run", _NOTHING_OPEN), "Restore the run."
    ),
    Check("R6", "A run's events follow the table of moves.", rows("run", _LEGAL_MOVES), RESTORE),
    Check(
        "R7",
        "A run waits for an approval when, and only when, one is pending.",
        rows("run", _WAITS_FOR_ONE),
        CANCEL,
    ),
    Check(
        "R8",
        "A call that ended has one result, and a denied one never ran.",
        rows("tool_call", _ONE_RESULT),
        CANCEL,
    ),
    Check(
        "R9",
        "A call that needs approval began after it was approved.",
        rows("tool_call", _APPROVED_FIRST),
        "Look at what the call did: nobody had approved it.",
    ),
    Check("R10", "A message has its event.", rows("message", _MESSAGE_HAS_EVENT), RESTORE),
    Check(
        "R11",
        "The frozen prefix stays between two compactions.",
        rows("message", _PREFIX_STAYS),
        "Start a new session.",
    ),
    Check(
        "R11",
        "The frozen prefix is what its hash says.",
        changed_prefixes,
        "Start a new session.",
    ),
    Check(
        "R12",
        "A checkpoint covers events that exist, and its session knows it.",
        rows("session", _SUMMARY_WITHIN),
        RESTORE,
    ),
    Check("R12", "Every message is still there.", rows("run_event", _NOTHING_DELETED), RESTORE),
    Check(
        "R13",
        "A run's configuration is as it was frozen.",
        changed_configs,
        "Start the run again from its session.",
    ),
    Check(
        "R14",
        "A run's tokens are the sum of its model calls.",
        rows("run", _TOKENS_ADD_UP),
        "Nothing is lost: the calls themselves are right.",
        Severity.WARNING,
    ),
)


def register() -> None:
    """Called once when the app is ready."""
    register_checks(CHECKS)

"""The job ledger and the outbox: no work is doubled, none is forgotten."""

# ruff: noqa: S608 - queries are put together from the constants of these modules only

from workspaces.models.jobs import MAX_ATTEMPTS
from workspaces.verify.findings import Check, Severity, rows

REQUEUE = "`verify --fix` queues it again."
SWEEP = "Start a worker: its sweep frees the job (`verify --fix` does too)."
LATE_SECONDS = 120  # two periods of the sweep

CHECKS = (
    Check(
        "J1",
        "A target has at most one ready and one running job of a topic.",
        rows(
            "job",
            "SELECT min(id::text), topic || ' ' || state || ' ' || count(*) FROM workspaces_job"
            " WHERE workspace_id = %(workspace)s AND state IN ('ready', 'running')"
            " GROUP BY topic, target_id, state HAVING count(*) > 1",
        ),
        "Restore the unique indexes of the job table.",
    ),
    Check(
        "J2",
        "A job stays within its attempts; only a running or settled one may have used them up.",
        rows(
            "job",
            "SELECT id, state || ' after ' || attempts FROM workspaces_job"
            f" WHERE workspace_id = %(workspace)s AND (attempts > {MAX_ATTEMPTS}"
            f" OR (state = 'ready' AND attempts >= {MAX_ATTEMPTS}))",
        ),
        "Park the job, or retry it from the jobs page.",
    ),
    Check(
        "J3",
        "No running job has lost its lease for longer than a sweep takes.",
        rows(
            "job",
            "SELECT id, topic FROM workspaces_job WHERE workspace_id = %(workspace)s"
            " AND state = 'running' AND (lease_until IS NULL OR lease_token IS NULL"
            f" OR lease_until < now() - make_interval(secs => {LATE_SECONDS}))",
        ),
        SWEEP,
        Severity.WARNING,
    ),
    Check(
        "J4",
        "Work that is due does not wait longer than a wake-up and a sweep take.",
        rows(
            "job",
            "SELECT id, topic FROM workspaces_job AS j WHERE j.workspace_id = %(workspace)s"
            f" AND state = 'ready' AND next_try_at < now() - make_interval(secs => {LATE_SECONDS})"
            " AND NOT EXISTS (SELECT 1 FROM workspaces_job AS twin WHERE twin.state = 'running'"
            " AND twin.topic = j.topic AND twin.target_id = j.target_id)",
        ),
        SWEEP,
        Severity.WARNING,
    ),
    Check(
        "J5",
        "An event whose job is done is processed.",
        rows(
            "event",
            "SELECT e.id, e.status FROM workspaces_event AS e"
            " WHERE e.workspace_id = %(workspace)s AND e.status <> 'processed'"
            " AND EXISTS (SELECT 1 FROM workspaces_job AS j WHERE j.target_id = e.id"
            " AND j.topic = 'event.received' AND j.state = 'done')"
            " AND NOT EXISTS (SELECT 1 FROM workspaces_job AS j WHERE j.target_id = e.id"
            " AND j.topic = 'event.received' AND j.state <> 'done')",
        ),
        REQUEUE,
    ),
    Check(
        "J5",
        "A processed event has judged all its chunks, and an admitted one has its leaf.",
        rows(
            "event",
            "SELECT DISTINCT e.id FROM workspaces_event AS e"
            " JOIN workspaces_chunk AS c ON c.event_id = e.id AND c.workspace_id = e.workspace_id"
            " WHERE e.workspace_id = %(workspace)s AND e.status = 'processed'"
            " AND (c.outcome = 'pending' OR (c.outcome <> 'rejected' AND (c.leaf_id IS NULL"
            " OR NOT EXISTS (SELECT 1 FROM workspaces_leafsource AS s"
            " WHERE s.leaf_id = c.leaf_id AND s.event_id = e.id))))",
        ),
        "Send the event again.",
    ),
    Check(
        "J6",
        "An event that is not processed has a job that will process it, or says why not.",
        rows(
            "event",
            "SELECT e.id, e.status FROM workspaces_event AS e"
            " WHERE e.workspace_id = %(workspace)s AND e.status <> 'processed'"
            " AND NOT EXISTS (SELECT 1 FROM workspaces_job AS j WHERE j.target_id = e.id"
            " AND j.topic = 'event.received')",
        ),
        REQUEUE,
    ),
    Check(
        "J7",
        "No job is parked.",
        rows(
            "job",
            "SELECT id, topic || ': ' || error FROM workspaces_job"
            " WHERE workspace_id = %(workspace)s AND state = 'parked'",
        ),
        "Read its error, remove the cause, and retry it from the jobs page.",
        Severity.WARNING,
    ),
)

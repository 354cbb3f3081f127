"""Driving the real write path in tests: events in, jobs run, nothing mocked."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import connection

from holamem.database.scope import ALL_SCOPES, system_scope
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.jobs import batch_sizes, claim_job
from workspaces.services.principals import Principal
from workspaces.services.results import EventResult, event_result
from workspaces.services.worker import run_jobs

MORNING = datetime(2026, 5, 20, 9, 30, tzinfo=UTC)


def principal_of(workspace: Workspace, *permissions: str) -> Principal:
    return Principal(
        label="test",
        tenant_id=workspace.tenant_id,
        workspace_id=None,
        end_user_id=None,
        end_user_ref=None,
        permissions=frozenset(permissions or ("admin",)),
        key_id=None,
        is_person=False,
    )


def draft(text: str, *, minutes: int = 0, **values: object) -> EventDraft:
    """A vouched user message, `minutes` after the morning of 20 May 2026."""
    values.setdefault("kind", "user_message")
    values.setdefault("admission", "accepted")
    values.setdefault("occurred_at", MORNING + timedelta(minutes=minutes))
    return EventDraft(text=text, **values)  # type: ignore[arg-type]


def remember(workspace: Workspace, *drafts: EventDraft) -> list[EventResult]:
    """Receive the events, run every job of the workspace, and read the results."""
    received = receive_events(workspace, drafts=drafts, principal=principal_of(workspace))
    drain(workspace)
    return results_of(workspace, received.event_ids)


def results_of(workspace: Workspace, event_ids: Sequence[UUID]) -> list[EventResult]:
    return [event_result(workspace, scopes=ALL_SCOPES, event_id=event_id) for event_id in event_ids]


def drain(workspace: Workspace) -> int:
    """Run what is due in this workspace, as a worker would; returns the number of jobs."""
    count = 0
    while job_ids := next_together(workspace):
        claimed = [claim_job(job_id) for job_id in job_ids]
        assert [job.id for job in claimed if job] == job_ids
        run_jobs([job for job in claimed if job])
        count += len(job_ids)
    return count


def next_together(workspace: Workspace) -> list[UUID]:
    """The jobs that a worker would take in one turn, as its claim chooses them."""
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            "WITH turn AS (SELECT * FROM workspaces_job WHERE workspace_id = %(w)s AND"
            " state = 'ready' AND next_try_at <= now() ORDER BY priority, id LIMIT 1)"
            " SELECT due.id, due.topic FROM workspaces_job AS due"
            " JOIN turn USING (workspace_id, scope_id, topic)"
            " WHERE due.id = turn.id OR due.state = 'ready' AND due.next_try_at <= now()"
            " AND due.attempts = 0 AND turn.attempts = 0 ORDER BY due.priority, due.id",
            {"w": workspace.pk},
        )
        rows = cursor.fetchall()
    return [row[0] for row in rows[: batch_sizes().get(rows[0][1], 1) if rows else 0]]


def next_ready(workspace: Workspace) -> UUID | None:
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM workspaces_job WHERE workspace_id = %s AND state = 'ready'"
            " AND next_try_at <= now() ORDER BY priority, id LIMIT 1",
            [workspace.pk],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def unfinished_jobs(workspace: Workspace) -> list[tuple[str, str, str]]:
    with system_scope():
        return list(
            Job.objects.filter(workspace=workspace)
            .exclude(state=Job.State.DONE)
            .values_list("topic", "state", "error")
        )


ATLAS_FACTS = (
    "The Atlas gateway listens on port 8443.",
    "The Atlas gateway writes its access log to /var/log/atlas/access.log.",
    "Errors of the Atlas gateway carry a code that starts with ATL.",
    "The Atlas gateway terminates TLS with certificates from the internal CA.",
    "Backups of the Atlas gateway configuration run at 02:15 every night.",
    "The Atlas gateway rejects requests without a tenant header.",
    "Rate limits of the Atlas gateway live in Redis.",
    "The Atlas gateway was rewritten in Go during the winter.",
    "Canary releases of the Atlas gateway take ten percent of the traffic.",
    "The staging copy of the Atlas gateway lives in Frankfurt.",
    "The Atlas gateway forwards traces to Tempo.",
    "Only the platform team may restart the Atlas gateway.",
    "The Atlas gateway caches JWKS keys for an hour.",
    "Customers reach the Atlas gateway through api.example.org.",
    "The Atlas gateway drops idle connections after ninety seconds.",
    "The dashboard of the Atlas gateway is named Edge Overview.",
    "The Atlas gateway supports HTTP/2 and gRPC.",
    "Terraform module edge-atlas creates the Atlas gateway.",
    "The Atlas gateway pages the on-call engineer when errors pass two percent.",
    "Header names are lowercased by the Atlas gateway.",
    "The Atlas gateway has a budget of four virtual machines.",
    "Documentation of the Atlas gateway sits in the handbook under Edge.",
    "The Atlas gateway compresses responses with zstd.",
    "Penetration testers examined the Atlas gateway in March.",
)

"""Killing real workers at named points, and bringing the work to its end afterwards."""

from uuid import UUID

from django.db import connection

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.faults import child
from tests.faults.gate_locks import Gate
from tests.faults.processes import Child, start
from tests.verification import assert_clean
from tests.workspaces.memory import drain, unfinished_jobs
from workspaces.models.tenancy import Workspace
from workspaces.services.jobs import sweep


def start_worker(
    workspace: Workspace, *, fault: str = "", poison: UUID | None = None, gate: Gate | None = None
) -> Child:
    """A worker in a process of its own, on the database and the bodies of this test run."""
    return start(child.work_in, workspace.pk, poison, fault=fault, gate=gate)


def is_killed_at(workspace: Workspace, fault_point: str, *, occurrence: int = 1) -> bool:
    """Run a worker that is killed there; False when it came to its end without reaching it."""
    return start_worker(workspace, fault=f"{fault_point}:kill@{occurrence}").is_killed()


def expire_leases(workspace: Workspace) -> None:
    """What passing time does: leases run out, and pauses end."""
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workspaces_job SET lease_until = now() - interval '1 second'"
            " WHERE workspace_id = %s AND state = 'running'",
            [workspace.pk],
        )


def end_pauses(workspace: Workspace) -> None:
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workspaces_job SET next_try_at = now() WHERE workspace_id = %s"
            " AND state = 'ready'",
            [workspace.pk],
        )


def lengthen_pauses(workspace: Workspace) -> None:
    """A job that waits for its next attempt is not due, however slowly this machine runs."""
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workspaces_job SET next_try_at = now() + interval '1 hour'"
            " WHERE workspace_id = %s AND state = 'ready' AND attempts > 0",
            [workspace.pk],
        )


def recover(workspace: Workspace) -> None:
    """What the sweeper and the next worker do; afterwards nothing is left and all holds."""
    expire_leases(workspace)
    sweep()
    end_pauses(workspace)
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


def picture(workspace: Workspace) -> dict[str, object]:
    """What memory holds, without ids and times: equal for equal histories."""
    with workspace_scope(workspace, ALL_SCOPES):
        return {
            "leaves": sorted(
                workspace.leaves.values_list(
                    "tree__key", "fingerprint", "status", "parent__height", "subject_key"
                ),
                key=str,
            ),
            "summaries": sorted(
                workspace.summaries.exclude(status="retired").values_list(
                    "tree__key", "height", "level", "status", "is_root", "leaf_count"
                )
            ),
            "trees": sorted(workspace.trees.values_list("key", "height", "leaf_count")),
            "events": sorted(workspace.events.values_list("payload_text", "status")),
            "chunks": sorted(
                workspace.chunks.values_list("event__payload_text", "position", "outcome")
            ),
            "sources": workspace.leaf_sources.count(),
            "lexemes": workspace.lexeme_entries.count(),
            "vectors": workspace.vector_entries.count(),
        }

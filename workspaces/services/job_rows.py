"""New rows of the job ledger, to be written with whatever makes the work due."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from holamem.database.statements import Statement
from holamem.ids import new_id
from workspaces.models.tenancy import Workspace

_INTO = """
INSERT INTO workspaces_job (id, workspace_id, scope_id, topic, target_id, payload, priority,
                            attempts, next_try_at, state, error, created_at) VALUES
"""
_ROW = "(%s, %s, %s, %s, %s, %s::jsonb, %s, 0, now(), 'ready', '', now())"
_UNLESS_READY = """
ON CONFLICT (topic, target_id) WHERE state = 'ready'
DO UPDATE SET next_try_at = workspaces_job.next_try_at
"""
HELD_LEASES = """
SELECT id FROM workspaces_job
 WHERE state = 'running' AND id = ANY(%(jobs)s::uuid[]) AND lease_token = ANY(%(leases)s::uuid[])
 ORDER BY id FOR UPDATE
"""


def lease_values(tokens: Mapping[UUID, UUID]) -> dict[str, list[UUID]]:
    """What HELD_LEASES asks for; the worker's lease token by job."""
    return {"jobs": list(tokens), "leases": list(tokens.values())}


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be; it is ready at once. A smaller `priority` is taken earlier."""

    topic: str
    target_id: UUID
    scope_id: UUID
    priority: int = 100
    payload: Mapping[str, object] = field(default_factory=dict)
    id: UUID = field(default_factory=new_id)


def new_jobs_statement(workspace: Workspace, *, jobs: Sequence[NewJob]) -> Statement:
    """Several rows as `add_job` writes one; no two of the same topic and target. Not empty."""
    values = [
        value
        for job in jobs
        for value in (
            job.id,
            workspace.pk,
            job.scope_id,
            job.topic,
            job.target_id,
            json.dumps(job.payload),
            job.priority,
        )
    ]
    rows = ", ".join([_ROW] * len(jobs))
    return Statement(" ".join([_INTO, rows, _UNLESS_READY]), values)

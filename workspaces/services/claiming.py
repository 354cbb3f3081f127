"""Which work a worker takes next: every workspace has its turn, whatever another one has queued."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection

from holamem.database.scope import system_scope
from holamem.ids import new_id
from workspaces.services.jobs import LEASE_SECONDS, ClaimedJob, batch_sizes

CLAIM_TRIES = 3
_FIRST = UUID(int=0)


@dataclass(slots=True)
class Turns:
    """Whose turn it was last. Each worker goes round by itself; that is fair enough."""

    last: UUID = _FIRST

    def claim(self) -> list[ClaimedJob]:
        """Due jobs of the next workspace that has any, to be run in this order; none are due: [].

        Several only of one scope and topic whose jobs are handled together, and only on their
        first attempt: what has failed before is tried alone, so that it takes nobody with it.
        """
        for _ in range(CLAIM_TRIES):
            try:
                jobs = _claim_after(self.last) or _claim_after(_FIRST)
            except IntegrityError:  # a twin started in this moment; the next claim sees it
                continue
            if jobs:
                self.last = jobs[0].workspace_id
            return jobs
        return []


def _claim_after(workspace_id: UUID) -> list[ClaimedJob]:
    values: dict[str, Any] = {
        "after": workspace_id,
        "sizes": json.dumps(batch_sizes()),
        "token": new_id(),
        "lease": LEASE_SECONDS,
    }
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(_CLAIM, values)
        rows = sorted(cursor.fetchall(), key=lambda row: (row[0], row[1]))
    return [claimed(row[1:]) for row in rows]


def claimed(row: tuple[Any, ...]) -> ClaimedJob:
    payload = json.loads(row[5]) if isinstance(row[5], str) else row[5]
    return ClaimedJob(row[0], row[1], row[2], row[3], row[4], payload, row[6], row[7])


# The attempt is counted before any work, so that a worker that is killed counts too. A ready job
# whose twin is running waits for it.
_CLAIM = """
WITH turn AS MATERIALIZED (
  SELECT id, workspace_id, scope_id, topic, attempts FROM workspaces_job AS due
   WHERE state = 'ready' AND next_try_at <= now() AND workspace_id > %(after)s
     AND NOT EXISTS (SELECT 1 FROM workspaces_job AS twin
                      WHERE twin.topic = due.topic AND twin.target_id = due.target_id
                        AND twin.state = 'running')
   ORDER BY workspace_id, priority, id
   LIMIT 1 FOR UPDATE SKIP LOCKED),
mates AS MATERIALIZED (
  SELECT due.id FROM workspaces_job AS due JOIN turn USING (workspace_id, scope_id, topic)
   WHERE due.state = 'ready' AND due.next_try_at <= now() AND due.id <> turn.id
     AND due.attempts = 0 AND turn.attempts = 0
     AND NOT EXISTS (SELECT 1 FROM workspaces_job AS twin
                      WHERE twin.topic = due.topic AND twin.target_id = due.target_id
                        AND twin.state = 'running')
   ORDER BY due.priority, due.id
   LIMIT (SELECT coalesce((%(sizes)s::jsonb ->> topic)::int, 1) - 1 FROM turn)
     FOR UPDATE OF due SKIP LOCKED)
UPDATE workspaces_job SET state = 'running', attempts = attempts + 1, lease_token = %(token)s,
       lease_until = now() + make_interval(secs => %(lease)s)
 WHERE id IN (SELECT id FROM turn UNION ALL SELECT id FROM mates)
RETURNING priority, id, workspace_id, scope_id, topic, target_id, payload, attempts, lease_token
"""

"""What a workspace keeps of what came in: the text of old events goes, the row stays.

Leaves are never touched; what was worth remembering is in their bodies.
"""

from uuid import UUID

from django.db import connection

from holamem.clock import now
from holamem.database.scope import eraser_scope
from workspaces.models.log import Chunk, Event
from workspaces.settings import WorkspaceSettings

BATCH = 500
DEFAULT_DAYS = WorkspaceSettings().retention_days
NO_TEXT_LEFT = "expired"

# One probe of the index a workspace, however many events it has. The batch takes the oldest
# event of each workspace, then the second oldest of each, and so on: nobody's backlog keeps the
# others waiting. Rows that another worker holds are left to the next sweep.
_EXPIRED = """
WITH turns AS MATERIALIZED (
  SELECT expired.id FROM workspaces_workspace AS workspace CROSS JOIN LATERAL (
    SELECT oldest.*, row_number() OVER (ORDER BY received_at, id) AS turn FROM (
      SELECT id, received_at FROM workspaces_event
       WHERE workspace_id = workspace.id AND payload_text <> ''
         AND status IN ('processed', 'dead')
         AND received_at < %(now)s - make_interval(
               days => COALESCE((workspace.settings ->> 'retention_days')::int, %(default)s))
       ORDER BY received_at, id LIMIT %(batch)s) AS oldest) AS expired
   ORDER BY expired.turn, expired.received_at LIMIT %(batch)s)
SELECT id FROM workspaces_event
 WHERE id IN (SELECT id FROM turns) AND payload_text <> '' AND status IN ('processed', 'dead')
 ORDER BY id FOR UPDATE SKIP LOCKED
"""


def remove_old_texts() -> int:
    """Clear one batch of settled events and their chunks; returns the number of events.

    A pending chunk of a dead event is rejected: without its text there is nothing to judge, and
    a retry then ends without a leaf.
    """
    with eraser_scope():
        expired = _expired_events()
        chunks = Chunk.objects.filter(event_id__in=expired)
        chunks.filter(outcome=Chunk.Outcome.PENDING).update(
            outcome=Chunk.Outcome.REJECTED, reason=NO_TEXT_LEFT
        )
        chunks.filter(outcome=Chunk.Outcome.REJECTED).update(text="")
        Event.objects.filter(id__in=expired).update(payload_text="")
    return len(expired)


def _expired_events() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_EXPIRED, {"now": now(), "default": DEFAULT_DAYS, "batch": BATCH})
        return [event_id for (event_id,) in cursor.fetchall()]

"""A fact joins its session's numbered log, and whoever follows it hears so at the commit."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from agents.models.conversations import Session
from agents.models.runs import RunEvent
from holamem.clock import now
from holamem.errors import NotFound
from holamem.ids import new_id
from workspaces.models.tenancy import Workspace

CHANNEL = "holamem_events"

# Number, row and announcement in one trip. The lock on the session's row lasts until the commit:
# numbers become visible in their order, and one that is rolled back is given out again.
_APPEND = """
WITH numbered AS (
    UPDATE agents_session SET last_event_seq = last_event_seq + 1, updated_at = %(at)s
     WHERE workspace_id = %(workspace)s AND id = %(session)s
    RETURNING last_event_seq AS seq
), stored AS (
    INSERT INTO agents_runevent (id, workspace_id, scope_id, session_id, run_id, turn_id, seq,
                                 type, payload, created_at)
    SELECT %(id)s, %(workspace)s, %(scope)s, %(session)s, %(run)s::uuid, %(turn)s::uuid, seq,
           %(type)s, %(payload)s::jsonb, %(at)s
      FROM numbered
    RETURNING seq
)
SELECT seq, pg_notify(%(channel)s, concat_ws(':', %(workspace)s, %(session)s, seq)) FROM stored
"""


def append_event(
    workspace: Workspace,
    *,
    session: Session,
    type: str,
    payload: Mapping[str, Any],
    run_id: UUID | None = None,
    turn_id: UUID | None = None,
) -> RunEvent:
    """Inside the caller's transaction, which orders the session's writers until it ends.

    Refreshes `session.last_event_seq`. Raises NotFound for a session that the step can't see.
    """
    event = RunEvent(
        id=new_id(),
        workspace=workspace,
        scope_id=session.scope_id,
        session=session,
        run_id=run_id,
        turn_id=turn_id,
        type=type,
        payload=dict(payload),
        created_at=now(),
    )
    event.seq = session.last_event_seq = _stored_seq(event)
    return event


def _stored_seq(event: RunEvent) -> int:
    values = {
        "id": event.id,
        "workspace": event.workspace_id,
        "scope": event.scope_id,
        "session": event.session_id,
        "run": event.run_id,
        "turn": event.turn_id,
        "type": event.type,
        "payload": json.dumps(event.payload, ensure_ascii=False),
        "at": event.created_at,
        "channel": CHANNEL,
    }
    with connection.cursor() as cursor:
        cursor.execute(_APPEND, values)
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such session.")
    return int(row[0])

"""Step 2 of the write path: an event becomes chunks."""

from collections.abc import Sequence
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.text.normalise import fingerprint
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.chunking import split_text


def build_chunks(event: Event) -> list[Chunk]:
    """Unsaved chunks in order; offsets are characters of the event's text."""
    text = event.payload_text
    return [
        Chunk(
            workspace_id=event.workspace_id,
            scope_id=event.scope_id,
            event=event,
            position=position,
            start=span.start,
            end=span.end,
            text=text[span.start : span.end],
            fingerprint=fingerprint(text[span.start : span.end]),
        )
        for position, span in enumerate(split_text(text))
    ]


def ensure_chunks(workspace: Workspace, *, events: Sequence[Event]) -> dict[UUID, list[Chunk]]:
    """Pending chunks of events of one scope in order, stored once; by event, also of none.

    An event taken up again keeps the chunks that it has. It is never cut again: where a part of
    the text was erased meanwhile, the places are no longer found.
    """
    scopes = sorted({event.scope_id for event in events})
    ids = [event.id for event in events]
    with workspace_scope(workspace, scopes):
        cut = set(workspace.chunks.filter(event__in=ids).values_list("event_id", flat=True))
    new = [chunk for event in events if event.id not in cut for chunk in build_chunks(event)]
    with workspace_scope(workspace, scopes):
        Chunk.objects.bulk_create(new, ignore_conflicts=True)
        rows = workspace.chunks.filter(event__in=ids, outcome=Chunk.Outcome.PENDING)
        pending = list(rows.order_by("event", "position"))
    return {
        event_id: [chunk for chunk in pending if chunk.event_id == event_id] for event_id in ids
    }

"""Step 2 of the write path: an event becomes chunks."""

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


def ensure_chunks(workspace: Workspace, *, event: Event) -> list[UUID]:
    """Store the chunks once; an event taken up again keeps the ones it has. Pending ids in order."""
    chunks = build_chunks(event)
    with workspace_scope(workspace, [event.scope_id]):
        Chunk.objects.bulk_create(chunks, ignore_conflicts=True)
        return list(
            workspace.chunks.filter(event=event, outcome=Chunk.Outcome.PENDING)
            .order_by("position")
            .values_list("id", flat=True)
        )

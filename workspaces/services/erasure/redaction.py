"""Taking the texts out of the log: chunks and the events that they were cut from.

An event that fed erased memory only loses its whole text, with metadata and speaker. One that
also fed memory that stays, or still has to be judged, loses the erased stretches: each character
is covered, so that the offsets of its other chunks hold; metadata and speaker belong to the
message as a whole and stay with it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import GONE_LEAVES, SourceLeaf

ERASED_REASON = "erased"
COVER = "█"


def chunks_of(workspace: Workspace, *, leaves: Sequence[SourceLeaf]) -> QuerySet[Chunk]:
    """Chunks that ended in these leaves and in no other that stays.

    By the leaf that a chunk ended in, or by one that was made of it: a moved leaf keeps its chunk.
    """
    born = [leaf.chunk_id for leaf in leaves if leaf.chunk_id is not None]
    fed = Q(leaf__in=[leaf.id for leaf in leaves]) | Q(id__in=born)
    stays = workspace.leaves.exclude(status__in=GONE_LEAVES)
    return workspace.chunks.filter(
        fed,
        ~Exists(stays.filter(id=OuterRef("leaf_id"))),
        ~Exists(stays.filter(chunk_id=OuterRef("id"))),
    )


def unused_chunks(
    workspace: Workspace, *, scope_id: UUID, fingerprints: Iterable[str]
) -> QuerySet[Chunk]:
    """Chunks with these texts that became no memory: rejected, or not judged yet."""
    return workspace.chunks.filter(
        scope_id=scope_id,
        fingerprint__in=set(fingerprints),
        outcome__in=[Chunk.Outcome.PENDING, Chunk.Outcome.REJECTED],
    )


def redact_events(workspace: Workspace, *, event_ids: Iterable[UUID]) -> None:
    """Inside the caller's step, after leaves and chunks say what is erased."""
    wanted = set(event_ids)
    kept = _events_that_stay(workspace, event_ids=wanted)
    blank_events(workspace, event_ids=wanted - kept)
    for event_id, spans in erased_spans(workspace, event_ids=kept).items():
        cover_spans(workspace, event_id=event_id, spans=spans)


def blank_events(workspace: Workspace, *, event_ids: Iterable[UUID]) -> None:
    ids = set(event_ids)
    workspace.events.filter(id__in=ids).update(payload_text="", metadata={}, actor="", error="")
    workspace.chunks.filter(event__in=ids).exclude(text="").update(text="")


def _events_that_stay(workspace: Workspace, *, event_ids: set[UUID]) -> set[UUID]:
    """Those with a chunk that is not judged yet, or with memory that was not erased."""
    pending = workspace.chunks.filter(event__in=event_ids, outcome=Chunk.Outcome.PENDING)
    linked = workspace.leaf_sources.filter(event__in=event_ids).exclude(
        leaf__status__in=GONE_LEAVES
    )
    both = pending.values_list("event_id").union(linked.values_list("event_id"))
    return {event_id for (event_id,) in both}


def erased_spans(
    workspace: Workspace, *, event_ids: set[UUID]
) -> dict[UUID, list[tuple[int, int]]]:
    """The stretches of the erased chunks of these events; events without one are left out."""
    spans: dict[UUID, list[tuple[int, int]]] = defaultdict(list)
    erased = workspace.chunks.filter(event__in=event_ids, reason=ERASED_REASON)
    for event_id, start, end in erased.values_list("event_id", "start", "end"):
        spans[event_id].append((start, end))
    return spans


def cover_spans(workspace: Workspace, *, event_id: UUID, spans: Sequence[tuple[int, int]]) -> None:
    event = workspace.events.select_for_update().only("id", "payload_text").get(id=event_id)
    covered = cover_text(event.payload_text, spans=spans)
    if covered != event.payload_text:
        workspace.events.filter(id=event_id).update(payload_text=covered)


def cover_text(text: str, *, spans: Iterable[tuple[int, int]]) -> str:
    """The text with these stretches covered, as long as it was; spans outside it do nothing."""
    for start, end in spans:
        inside = text[start:end]
        text = text[:start] + COVER * len(inside) + text[end:]
    return text


def events_with_text(workspace: Workspace, *, scope_id: UUID, digests: Iterable[str]) -> list[UUID]:
    """Events that state these whole texts and were not cut into chunks yet."""
    waiting = workspace.events.filter(scope_id=scope_id, text_sha256__in=set(digests), chunks=None)
    return list(
        waiting.exclude(status=Event.Status.PROCESSED)
        .exclude(payload_text="")
        .values_list("id", flat=True)
    )

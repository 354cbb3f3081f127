"""Step 7 for the integration category: the source says what a part of a revision takes the place of.

No model is asked. Whether the revision is the latest of its object decides what is current; a part
that only moved, or did not change, stays the leaf that it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from functools import lru_cache
from uuid import UUID

from holamem.database.scope import workspace_scope
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import GONE_LEAVES, SourceLeaf, Tree
from workspaces.services.chunks import build_chunks
from workspaces.services.duplicates import Resolution
from workspaces.services.revisions import Revision, neighbours, object_key


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of a revision is to the tree, and under which key its leaf stands."""

    resolution: Resolution
    subject_key: str


@dataclass(frozen=True, slots=True)
class _Known:
    """A part of another revision; `leaf_id` None while it waits or when it was not admitted."""

    fingerprint: str
    leaf_id: UUID | None


def resolve_part(workspace: Workspace, *, event: Event, chunk: Chunk, tree: Tree | None) -> Part:
    """Decided from committed rows alone; `tree` None: it does not exist yet.

    The commit decides again, holding the tree, and plans anew when the answer changed.
    """
    with workspace_scope(workspace, [event.scope_id]):
        before, after = neighbours(workspace, event=event)
        if after is not None:
            return _past_part(workspace, event=event, chunk=chunk, tree=tree, after=after)
        return _current_part(workspace, event=event, chunk=chunk, tree=tree, before=before)


def _past_part(
    workspace: Workspace, *, event: Event, chunk: Chunk, tree: Tree | None, after: Revision
) -> Part:
    """An older revision that arrives late is history at birth, whatever it says."""
    same = _same_text(workspace, event=event, chunk=chunk, tree=tree)
    if same is not None:
        return _duplicate(event, chunk=chunk, leaf=same)
    own = _own_fingerprints(workspace, event=event)
    later = _parts_of(workspace, event_id=after.id)
    place = aligned(own, _fingerprints(later)).get(chunk.position)
    newer = None if place is None else _leaf(workspace, leaf_id=later[place].leaf_id, tree=tree)
    return Part(
        Resolution("history", newer.id if newer else None, until=after.started),
        newer.subject_key if newer else _key(event, position=chunk.position),
    )


def _current_part(
    workspace: Workspace, *, event: Event, chunk: Chunk, tree: Tree | None, before: Revision | None
) -> Part:
    if tree is None:
        return Part(Resolution("new"), _key(event, position=chunk.position))
    active = _active_with_text(workspace, tree=tree, fingerprint=chunk.fingerprint)
    if active is not None:
        return _duplicate(event, chunk=chunk, leaf=active)
    earlier = [] if before is None else _parts_of(workspace, event_id=before.id)
    forgotten = _forgotten(workspace, tree=tree, earlier=earlier, fingerprint=chunk.fingerprint)
    if forgotten is not None:
        return _duplicate(event, chunk=chunk, leaf=forgotten)
    old = _replaced(workspace, event=event, chunk=chunk, tree=tree, earlier=earlier)
    if old is not None:
        return Part(Resolution("supersede", old.id), old.subject_key)
    return Part(Resolution("new"), _free_key(workspace, event=event, chunk=chunk, tree=tree))


def _forgotten(
    workspace: Workspace, *, tree: Tree, earlier: Sequence[_Known], fingerprint: str
) -> SourceLeaf | None:
    """A part that a person took out of memory stays out while the source says nothing new of it."""
    for part in earlier:
        if part.fingerprint == fingerprint:
            leaf = _leaf(workspace, leaf_id=part.leaf_id, tree=tree)
            if leaf is not None and leaf.forgotten_at is not None:
                return None if leaf.status in GONE_LEAVES else leaf
    return None


def _replaced(
    workspace: Workspace, *, event: Event, chunk: Chunk, tree: Tree, earlier: Sequence[_Known]
) -> SourceLeaf | None:
    """The active leaf whose part of the revision before stood where this part stands now."""
    own = _own_fingerprints(workspace, event=event)
    places = {new: old for old, new in aligned(_fingerprints(earlier), own).items()}
    place = places.get(chunk.position)
    if place is None:
        return None
    leaf = _leaf(workspace, leaf_id=earlier[place].leaf_id, tree=tree)
    if leaf is None or leaf.status != SourceLeaf.Status.ACTIVE or leaf.fingerprint in own:
        return None
    is_later = leaf.observed_at > (event.occurred_at or event.received_at)
    return None if is_later or _is_shared(workspace, leaf=leaf, event=event) else leaf


def _is_shared(workspace: Workspace, *, leaf: SourceLeaf, event: Event) -> bool:
    """Another object said the same; its leaf ends when no object says it, and has no one heir."""
    own = {"source": event.source, "external_id": event.external_id}
    sources = workspace.events.filter(leaf_sources__leaf=leaf.id)
    return sources.exclude(**own).exists()


def end_at_source(leaf: SourceLeaf, *, until: datetime | None) -> None:
    """An unsaved leaf of an older revision is past, with an heir or without one.

    `until` None: the revision is the latest, or the source does not order this leaf.
    """
    if until is None:
        return
    if leaf.status == SourceLeaf.Status.ACTIVE:
        leaf.status = SourceLeaf.Status.INACTIVE
    leaf.valid_until = max(leaf.observed_at, min(leaf.valid_until or until, until))


@lru_cache(maxsize=64)
def _diff(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    stay, came = set(new), set(old)
    return tuple(
        (i, j)
        for tag, i1, i2, j1, j2 in codes
        if tag == "replace"
        for i, j in zip(range(i1, i2), range(j1, j2), strict=False)
        if old[i] not in stay and new[j] not in came
    )


def aligned(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Old place to new place of the parts that were rewritten; unchanged and moved ones are left out.

    Both are fingerprints in the order of the text.
    """
    return dict(_diff(tuple(old), tuple(new)))


def _own_fingerprints(workspace: Workspace, *, event: Event) -> list[str]:
    stored = _fingerprints(_parts_of(workspace, event_id=event.id))
    return stored or [chunk.fingerprint for chunk in build_chunks(event)]


def _parts_of(workspace: Workspace, *, event_id: UUID) -> list[_Known]:
    """By position, which counts from 0 without a hole."""
    rows = workspace.chunks.filter(event_id=event_id).order_by("position")
    return [_Known(*row) for row in rows.values_list("fingerprint", "leaf_id")]


def _fingerprints(parts: Sequence[_Known]) -> list[str]:
    return [part.fingerprint for part in parts]


def _same_text(
    workspace: Workspace, *, event: Event, chunk: Chunk, tree: Tree | None
) -> SourceLeaf | None:
    """The active leaf with this text, or one that was observed at the same time: a re-import."""
    if tree is None:
        return None
    active = _active_with_text(workspace, tree=tree, fingerprint=chunk.fingerprint)
    at = event.occurred_at or event.received_at
    imported = workspace.leaves.filter(tree=tree, fingerprint=chunk.fingerprint, observed_at=at)
    return active or imported.exclude(status__in=GONE_LEAVES).order_by("id").first()


def _active_with_text(workspace: Workspace, *, tree: Tree, fingerprint: str) -> SourceLeaf | None:
    return workspace.leaves.filter(
        tree=tree, fingerprint=fingerprint, status=SourceLeaf.Status.ACTIVE
    ).first()


def _leaf(workspace: Workspace, *, leaf_id: UUID | None, tree: Tree | None) -> SourceLeaf | None:
    if leaf_id is None or tree is None:
        return None
    return workspace.leaves.filter(id=leaf_id, tree=tree).first()


def _duplicate(event: Event, *, chunk: Chunk, leaf: SourceLeaf) -> Part:
    return Part(Resolution("duplicate", leaf.id), _key(event, position=chunk.position))


def _key(event: Event, *, position: int) -> str:
    return object_key(event.external_id, position=position, source=event.source)


def _free_key(workspace: Workspace, *, event: Event, chunk: Chunk, tree: Tree) -> str:
    """Its own place, or the first one behind it that no current part has: parts move."""
    position = chunk.position
    active = workspace.leaves.filter(tree=tree, status=SourceLeaf.Status.ACTIVE)
    while active.filter(subject_key=_key(event, position=position)).exists():
        position += 1
    return _key(event, position=position)

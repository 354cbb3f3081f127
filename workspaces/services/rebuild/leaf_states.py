"""Which leaves of a tree there are, and the state of each.

The sidecar lists every leaf whose state does not follow from who supersedes whom. Where the
files leave a doubt, nothing that was forgotten or replaced is taken for current.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from workspaces.models.trees import SourceLeaf
from workspaces.services.rebuild.found import FoundLeaf, FoundTree, Problem
from workspaces.services.rebuild.heads import LeafState, Sidecar, Tombstone
from workspaces.services.rebuild.reach import Reach

ACTIVE, SUPERSEDED = SourceLeaf.Status.ACTIVE, SourceLeaf.Status.SUPERSEDED
INACTIVE = SourceLeaf.Status.INACTIVE
GRACE = timedelta(hours=1)  # a file is written before its row commits


@dataclass(frozen=True, slots=True)
class PlannedLeaf:
    """One row to be made, from a file or from a tombstone."""

    id: UUID
    status: str
    observed_at: datetime
    file: FoundLeaf | None = None
    tombstone: Tombstone | None = None
    supersedes: UUID | None = None
    superseded_by: UUID | None = None
    valid_until: datetime | None = None
    forgotten_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the sidecar and the summaries say about leaves.

    `anchored`: they were there when the sidecar was written. `referenced`: another leaf names
    them as its predecessor.
    """

    listed: Mapping[UUID, LeafState]
    anchored: frozenset[UUID]
    referenced: frozenset[UUID]
    settled_before: datetime
    damaged_leaves: bool
    damaged_summaries: bool

    def is_unaccounted(self, leaf: FoundLeaf) -> bool:
        """Old enough to be in force or in the buffer, and in neither."""
        known = leaf.head.id in self.anchored or leaf.head.id in self.referenced
        return not known and moment_of(leaf.head.id) < self.settled_before


def plan_leaves(
    found: FoundTree, *, sidecar: Sidecar, evidence: Evidence, problems: list[Problem]
) -> dict[UUID, PlannedLeaf]:
    """By id, tombstones included; what is left out is named in `problems`."""
    files = _without_erased(found, evidence=evidence)
    files = _without_doubles(files, evidence=evidence, problems=problems)
    files = _without_garbage(files, evidence=evidence, problems=problems)
    planned = _states(files, evidence=evidence)
    planned |= _tombstones(sidecar)
    _name_missing(sidecar, planned=planned, problems=problems)
    return planned


def moment_of(node_id: UUID) -> datetime:
    """When a UUIDv7 was made; the start of time for an id of another kind."""
    milliseconds = node_id.int >> 80 if node_id.version == 7 else 0
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def gather_evidence(found: FoundTree, *, sidecar: Sidecar, reached: Reach) -> Evidence:
    listed = {state.id: state for state in sidecar.leaves}
    anchored = {*listed, *sidecar.buffer, *reached.covered(found.summaries)}
    return Evidence(
        listed=listed,
        anchored=frozenset(anchored),
        referenced=frozenset(
            leaf.head.supersedes for leaf in found.leaves.values() if leaf.head.supersedes
        ),
        settled_before=sidecar.written_at - GRACE,
        damaged_leaves=any("/leaves/" in problem.path for problem in found.problems),
        damaged_summaries=bool(reached.missing),
    )


def _without_erased(found: FoundTree, *, evidence: Evidence) -> dict[UUID, FoundLeaf]:
    """The file of an erased leaf, should one still lie there, is not looked at."""
    erased = {state.id for state in evidence.listed.values() if state.tombstone is not None}
    return {leaf_id: leaf for leaf_id, leaf in found.leaves.items() if leaf_id not in erased}


def _without_doubles(
    files: Mapping[UUID, FoundLeaf], *, evidence: Evidence, problems: list[Problem]
) -> dict[UUID, FoundLeaf]:
    """A worker that was killed leaves a file without a row; the next one wrote another."""
    kept = dict(files)
    gone = _chunks_of_erased(evidence)
    for key in (_own_chunk, _predecessor):
        for group in _groups(kept.values(), key=key):
            for leaf in _surplus(group, evidence=evidence):
                del kept[leaf.head.id]
                problems.append(Problem(leaf.path, "another file holds the same"))
    for leaf in list(kept.values()):
        if _own_chunk(leaf) in gone and leaf.head.id not in evidence.anchored:
            del kept[leaf.head.id]
            problems.append(Problem(leaf.path, "its text was erased"))
    return kept


def _own_chunk(leaf: FoundLeaf) -> UUID | None:
    """A leaf that was moved shares the chunk of the one that it was."""
    is_moved = leaf.head.moved_from is not None
    return None if leaf.head.chunk is None or is_moved else leaf.head.chunk.id


def _predecessor(leaf: FoundLeaf) -> UUID | None:
    return leaf.head.supersedes


def _chunks_of_erased(evidence: Evidence) -> set[UUID]:
    tombs = [state.tombstone for state in evidence.listed.values() if state.tombstone]
    return {tomb.chunk for tomb in tombs if tomb.chunk is not None}


def _groups(
    leaves: Iterable[FoundLeaf], *, key: Callable[[FoundLeaf], Hashable]
) -> list[list[FoundLeaf]]:
    """Of more than one, in order of id; leaves whose key is None stand alone."""
    groups: dict[Hashable, list[FoundLeaf]] = defaultdict(list)
    for leaf in leaves:
        groups[key(leaf)].append(leaf)
    return [
        sorted(group, key=lambda leaf: leaf.head.id)
        for name, group in groups.items()
        if name is not None and len(group) > 1
    ]


def _surplus(group: list[FoundLeaf], *, evidence: Evidence) -> list[FoundLeaf]:
    """All but those that are known to be there, or but the last: only it can have committed."""
    known = evidence.anchored | evidence.referenced
    kept = [leaf for leaf in group if leaf.head.id in known] or group[-1:]
    return [leaf for leaf in group if leaf not in kept]


def _without_garbage(
    files: Mapping[UUID, FoundLeaf], *, evidence: Evidence, problems: list[Problem]
) -> dict[UUID, FoundLeaf]:
    """A file that nothing accounts for never had a row. With damage around it, it may have had."""
    if evidence.damaged_leaves or evidence.damaged_summaries:
        return dict(files)
    kept = {}
    for leaf_id, leaf in files.items():
        if evidence.is_unaccounted(leaf):
            problems.append(Problem(leaf.path, "it never became a leaf"))
        else:
            kept[leaf_id] = leaf
    return kept


def _states(files: Mapping[UUID, FoundLeaf], *, evidence: Evidence) -> dict[UUID, PlannedLeaf]:
    successors = {
        leaf.head.supersedes: leaf
        for leaf in files.values()
        if leaf.head.supersedes is not None and _is_living(leaf, evidence=evidence)
    }
    return {
        leaf_id: _state(leaf, successor=successors.get(leaf_id), files=files, evidence=evidence)
        for leaf_id, leaf in files.items()
    }


def _is_living(leaf: FoundLeaf, *, evidence: Evidence) -> bool:
    listed = evidence.listed.get(leaf.head.id)
    return listed is None or listed.status in (ACTIVE, SUPERSEDED)


def _state(
    leaf: FoundLeaf,
    *,
    successor: FoundLeaf | None,
    files: Mapping[UUID, FoundLeaf],
    evidence: Evidence,
) -> PlannedLeaf:
    head = leaf.head
    status: str = ACTIVE
    newer_id, until, forgotten_at = None, None, None
    if (listed := evidence.listed.get(head.id)) is not None:
        status, newer_id = listed.status, listed.superseded_by
        until, forgotten_at = listed.valid_until, listed.forgotten_at
    elif successor is not None:
        status, newer_id, until = SUPERSEDED, successor.head.id, successor.head.observed_at
    elif head.history_of is not None or head.ended_at is not None:
        status, newer_id, until = _past_at_birth(leaf, files=files)
    elif evidence.damaged_leaves and not evidence.damaged_summaries:
        # What replaced it may be the file that is damaged.
        status = INACTIVE if evidence.is_unaccounted(leaf) else ACTIVE
    return PlannedLeaf(
        id=head.id,
        status=status,
        observed_at=head.observed_at,
        file=leaf,
        supersedes=head.supersedes,
        superseded_by=newer_id,
        valid_until=until,
        forgotten_at=forgotten_at,
    )


def _past_at_birth(
    leaf: FoundLeaf, *, files: Mapping[UUID, FoundLeaf]
) -> tuple[str, UUID | None, datetime | None]:
    """Status, heir and end of a leaf that was history when it was written."""
    head = leaf.head
    newer = files.get(head.history_of) if head.history_of else None
    until = max(newer.head.observed_at, head.observed_at) if newer else head.ended_at
    if head.ended_at is not None:
        until = max(head.observed_at, min(until or head.ended_at, head.ended_at))
    return (SUPERSEDED if newer else INACTIVE), (newer.head.id if newer else None), until


def _tombstones(sidecar: Sidecar) -> dict[UUID, PlannedLeaf]:
    return {
        state.id: PlannedLeaf(
            id=state.id,
            status=state.status,
            observed_at=state.tombstone.observed_at,
            tombstone=state.tombstone,
            supersedes=state.tombstone.supersedes,
            superseded_by=state.superseded_by,
            valid_until=state.valid_until,
            forgotten_at=state.forgotten_at,
        )
        for state in sidecar.leaves
        if state.tombstone is not None
    }


def _name_missing(
    sidecar: Sidecar, *, planned: Mapping[UUID, PlannedLeaf], problems: list[Problem]
) -> None:
    for state in sidecar.leaves:
        if state.id not in planned:
            problems.append(Problem(f"leaf:{state.id}", "its file is missing or damaged"))

"""What planned leaves say about each other, made whole: nothing points at what is not there."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from workspaces.models.trees import SourceLeaf
from workspaces.services.rebuild.found import Problem
from workspaces.services.rebuild.leaf_states import PlannedLeaf

ACTIVE, SUPERSEDED = SourceLeaf.Status.ACTIVE, SourceLeaf.Status.SUPERSEDED
INACTIVE = SourceLeaf.Status.INACTIVE


def whole_references(
    planned: Mapping[UUID, PlannedLeaf], *, problems: list[Problem]
) -> dict[UUID, PlannedLeaf]:
    """A leaf whose successor is lost is not current either: it goes out of use."""
    whole = {}
    for leaf in planned.values():
        status, newer = leaf.status, leaf.superseded_by
        if newer is not None and newer not in planned:
            problems.append(Problem(f"leaf:{newer}", "its file is missing; another leaf names it"))
            newer = None
            status = INACTIVE if status == SUPERSEDED else status
        older = leaf.supersedes if leaf.supersedes in planned else None
        whole[leaf.id] = replace(leaf, status=status, superseded_by=newer, supersedes=older)
    return whole


def one_active_text(
    planned: Mapping[UUID, PlannedLeaf], *, anchored: frozenset[UUID], problems: list[Problem]
) -> dict[UUID, PlannedLeaf]:
    """A tree holds a text as one active leaf: the one that was there for sure, else the first."""
    by_text: dict[str, list[PlannedLeaf]] = defaultdict(list)
    for leaf in planned.values():
        if leaf.status == ACTIVE and leaf.file is not None:
            by_text[leaf.file.head.fingerprint].append(leaf)
    kept = dict(planned)
    for leaves in by_text.values():
        leaves.sort(key=lambda leaf: (leaf.id not in anchored, leaf.id))
        for surplus in leaves[1:]:
            del kept[surplus.id]
            path = surplus.file.path if surplus.file else ""
            problems.append(Problem(path, "another active leaf holds the same text"))
    return kept

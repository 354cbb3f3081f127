"""Step 7 of the write path: known already, newer than what is known, or new.

Only inside the owner tree. Unsure never merges; older information never supersedes newer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db.models import Count, Max
from django.db.models.functions import Coalesce
from pgvector.django import CosineDistance

from holamem.database.scope import workspace_scope
from holamem.errors import MalformedReply
from workspaces.bodies import BodyCorrupt, BodyMissing, read_markdown
from workspaces.index.embedding import current_model
from workspaces.judging.base import ChunkContext, Judge, LeafView, Relation
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree

MAX_COMPARED = 6
SURE_CONFIDENCE = 0.5  # a judge that doubts its own answer is unsure
NEAREST_COMPARED = 3  # the rest of the six comes from the same subject key

Kind = Literal["duplicate", "supersede", "history", "new"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """`leaf_id` is the known leaf: the duplicate, the one to supersede, or the newer one.

    `rivals`: the active leaves on the subject when this was decided; the commit compares.
    """

    kind: Kind
    leaf_id: UUID | None = None
    rivals: tuple[UUID, ...] = ()


NEW = Resolution("new")


def resolve(
    workspace: Workspace,
    *,
    tree: Tree | None,
    chunk: ChunkContext,
    fingerprint: str,
    subject_key: str,
    vector: Sequence[float] | None,
    judge: Judge,
) -> Resolution:
    """What this chunk is to the leaves of its tree. A tree that does not exist yet has none."""
    if tree is None:
        return NEW
    same = _same_fingerprint(workspace, tree=tree, fingerprint=fingerprint, at=chunk.occurred_at)
    if same is not None:
        return Resolution("duplicate", same)
    with workspace_scope(workspace, [tree.scope_id]):
        rivals = active_on_subject(workspace, tree_id=tree.id, subject_key=subject_key)
    decided = _against_known(
        workspace, tree=tree, chunk=chunk, subject_key=subject_key, vector=vector, judge=judge
    )
    return replace(decided, rivals=rivals)


def active_on_subject(workspace: Workspace, *, tree_id: UUID, subject_key: str) -> tuple[UUID, ...]:
    """Ids in order, the newest hundred; inside the caller's step."""
    rows = workspace.leaves.filter(
        tree_id=tree_id, subject_key=subject_key, status=SourceLeaf.Status.ACTIVE
    )
    return tuple(rows.order_by("-id").values_list("id", flat=True)[:100]) if subject_key else ()


def _against_known(
    workspace: Workspace,
    *,
    tree: Tree,
    chunk: ChunkContext,
    subject_key: str,
    vector: Sequence[float] | None,
    judge: Judge,
) -> Resolution:
    if tree.category == Category.INTEGRATION:
        leaves = _same_object(workspace, tree=tree, subject_key=subject_key)
        return _by_time(workspace, tree=tree, leaf_id=leaves[0].id, chunk=chunk) if leaves else NEW
    views = _views(_closest(workspace, tree=tree, subject_key=subject_key, vector=vector))
    if not views:
        return NEW
    known, relation = _judged(chunk, subject_key=subject_key, views=views, judge=judge)
    if known is None:
        return NEW
    if relation == "same_memory":
        return Resolution("duplicate", known)
    return _by_time(workspace, tree=tree, leaf_id=known, chunk=chunk)


def _same_fingerprint(
    workspace: Workspace, *, tree: Tree, fingerprint: str, at: datetime
) -> UUID | None:
    """The active leaf with this text, or a re-import: same text, same time, whatever its status."""
    with workspace_scope(workspace, [tree.scope_id]):
        rows = list(
            workspace.leaves.filter(tree=tree, fingerprint=fingerprint)
            .exclude(status__in=[SourceLeaf.Status.ERASING, SourceLeaf.Status.ERASED])
            .values_list("id", "status", "observed_at")
        )
    for leaf_id, status, observed_at in rows:
        if status == SourceLeaf.Status.ACTIVE or observed_at == at:
            return leaf_id
    return None


def _same_object(workspace: Workspace, *, tree: Tree, subject_key: str) -> list[SourceLeaf]:
    with workspace_scope(workspace, [tree.scope_id]):
        return list(
            workspace.leaves.filter(
                tree=tree, subject_key=subject_key, status=SourceLeaf.Status.ACTIVE
            )
            # A text that two objects share stays for the other one when this one changes.
            .annotate(object_count=Count("sources__event__external_id", distinct=True))
            .filter(object_count=1)
            .order_by("-observed_at")[:1]
        )


def _closest(
    workspace: Workspace, *, tree: Tree, subject_key: str, vector: Sequence[float] | None
) -> list[SourceLeaf]:
    """At most six active leaves: the same subject key first, then the nearest by vector."""
    with workspace_scope(workspace, [tree.scope_id]):
        active = workspace.leaves.filter(tree=tree, status=SourceLeaf.Status.ACTIVE)
        near = _nearest(workspace, tree=tree, vector=vector) if vector is not None else []
        keyed = list(active.filter(subject_key=subject_key).order_by("-observed_at")[:MAX_COMPARED])
        keyed = keyed[: MAX_COMPARED - min(len(near), NEAREST_COMPARED)]
        rest = [leaf_id for leaf_id in near if leaf_id not in {leaf.id for leaf in keyed}]
        others = {leaf.id: leaf for leaf in active.filter(id__in=rest)}
    ordered = [others[leaf_id] for leaf_id in rest if leaf_id in others]
    return [*keyed, *ordered][:MAX_COMPARED]


def _nearest(workspace: Workspace, *, tree: Tree, vector: Sequence[float]) -> list[UUID]:
    return list(
        workspace.vector_entries.filter(
            scope_id=tree.scope_id,
            kind="leaf",
            tree_id=tree.id,
            status="active",
            model=current_model(),
        )
        .order_by(CosineDistance("embedding", list(vector)), "node_id")
        .values_list("node_id", flat=True)[:MAX_COMPARED]
    )


def _views(leaves: Sequence[SourceLeaf]) -> list[LeafView]:
    """A leaf whose body cannot be read is not compared: unsure never merges."""
    views = []
    for leaf in leaves:
        try:
            text = read_markdown(leaf.body_path, sha256=leaf.body_sha256)
        except (BodyMissing, BodyCorrupt):
            continue
        views.append(LeafView(str(leaf.id), text, leaf.title, leaf.subject_key, leaf.observed_at))
    return views


def _judged(
    chunk: ChunkContext, *, subject_key: str, views: Sequence[LeafView], judge: Judge
) -> tuple[UUID | None, Relation]:
    """The known leaf that the chunk restates or replaces, or None; unsure never merges."""
    try:
        comparison = judge.compare(chunk, subject_key=subject_key, leaves=views)
    except MalformedReply:
        return None, "unsure"  # no usable answer is as good as unsure
    leaf_id = comparison.leaf_id or ""
    is_known = leaf_id in {view.leaf_id for view in views}
    is_sure = comparison.confidence >= SURE_CONFIDENCE
    if not is_known or not is_sure or comparison.relation in ("different", "unsure"):
        return None, comparison.relation
    return UUID(leaf_id), comparison.relation


def _by_time(workspace: Workspace, *, tree: Tree, leaf_id: UUID, chunk: ChunkContext) -> Resolution:
    """History when it is older than the last time that the known leaf was stated."""
    with workspace_scope(workspace, [tree.scope_id]):
        events = workspace.events.filter(leaf_sources__leaf=leaf_id)
        stated = events.aggregate(last=Max(Coalesce("occurred_at", "received_at")))["last"]
        observed_at = workspace.leaves.values_list("observed_at", flat=True).get(id=leaf_id)
    newest = max(stated or observed_at, observed_at)
    return Resolution("history" if chunk.occurred_at < newest else "supersede", leaf_id)

"""Step 7 of the write path: known already, newer than what is known, or new.

Only inside the owner tree. Unsure never merges; older information never supersedes newer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from holamem.database.prepared import fetch_rows
from holamem.database.scope import workspace_scope
from holamem.errors import MalformedReply
from workspaces.bodies import BodyCorrupt, BodyMissing, read_markdown
from workspaces.judging.base import ChunkContext, Judge, LeafView, Relation
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import Tree
from workspaces.services.known_leaves import MAX_COMPARED, KnownLeaf, Place, read_known

SURE_CONFIDENCE = 0.5  # a judge that doubts its own answer is unsure
NEAREST_COMPARED = 3  # the rest of the six comes from the same subject key

Kind = Literal["duplicate", "supersede", "history", "new"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """`leaf_id` is the known leaf: the duplicate, the one to supersede, or the newer one.

    `rivals`: the active leaves on the subject when this was decided; the commit compares.
    `until`: when history ended at its source; without a `leaf_id` nothing took its place.
    """

    kind: Kind
    leaf_id: UUID | None = None
    rivals: tuple[UUID, ...] = ()
    until: datetime | None = None


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
    place = Place(tree.id, fingerprint, subject_key, vector)
    with workspace_scope(workspace, [tree.scope_id]):
        [there] = read_known(workspace, scope_id=tree.scope_id, places=[place])
    same = there.with_this_text(at=chunk.occurred_at)
    if same is not None:
        return Resolution("duplicate", same)
    views = leaf_views(closest(keyed=there.keyed, near=there.near))
    known, relation = judged_relation(chunk, subject_key=subject_key, views=views, judge=judge)
    if known is None:
        return Resolution("new", rivals=there.rivals)
    if relation == "same_memory":
        return Resolution("duplicate", known, rivals=there.rivals)
    with workspace_scope(workspace, [tree.scope_id]):
        stated = last_stated(workspace, leaf_ids=[known])[known]
    decided = by_time(known, stated=stated, observed=chunk.occurred_at)
    return replace(decided, rivals=there.rivals)


def closest(*, keyed: Sequence[KnownLeaf], near: Sequence[KnownLeaf]) -> list[KnownLeaf]:
    """At most six: the same subject key first, the latest of them, then the nearest by vector."""
    first = keyed[: MAX_COMPARED - min(len(near), NEAREST_COMPARED)]
    others = [leaf for leaf in near if leaf.id not in {known.id for known in first}]
    return [*first, *others][:MAX_COMPARED]


def leaf_views(
    leaves: Sequence[KnownLeaf], *, texts: Mapping[UUID, str] | None = None
) -> list[LeafView]:
    """A leaf whose body cannot be read is not compared: unsure never merges.

    `texts`: of leaves that have no body yet, by id.
    """
    views = []
    for leaf in leaves:
        try:
            text = (texts or {}).get(leaf.id) or read_markdown(
                leaf.body_path, sha256=leaf.body_sha256
            )
        except (BodyMissing, BodyCorrupt):
            continue
        views.append(LeafView(str(leaf.id), text, leaf.title, leaf.subject_key, leaf.observed_at))
    return views


def judged_relation(
    chunk: ChunkContext, *, subject_key: str, views: Sequence[LeafView], judge: Judge
) -> tuple[UUID | None, Relation]:
    """The known leaf that the chunk restates or replaces, or None; unsure never merges."""
    if not views:
        return None, "different"
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


_LAST_STATED = """
SELECT leaf.id, greatest(leaf.observed_at, (
         SELECT max(coalesce(event.occurred_at, event.received_at))
           FROM workspaces_leafsource AS source JOIN workspaces_event AS event
             ON event.workspace_id = source.workspace_id AND event.id = source.event_id
          WHERE source.workspace_id = leaf.workspace_id AND source.leaf_id = leaf.id))
  FROM workspaces_sourceleaf AS leaf
 WHERE leaf.workspace_id = %(workspace)s AND leaf.id = ANY(%(leaves)s::uuid[])
"""


def last_stated(workspace: Workspace, *, leaf_ids: Sequence[UUID]) -> dict[UUID, datetime]:
    """By leaf when it was observed or said again last; inside the caller's step."""
    if not leaf_ids:
        return {}
    values = {"workspace": workspace.pk, "leaves": list(leaf_ids)}
    return dict(fetch_rows(_LAST_STATED, values))


def by_time(leaf_id: UUID, *, stated: datetime, observed: datetime) -> Resolution:
    """History when it is older than the last time that the known leaf was stated."""
    return Resolution("history" if observed < stated else "supersede", leaf_id)

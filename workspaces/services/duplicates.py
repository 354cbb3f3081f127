"""Step 7 of the write path: known already, newer than what is known, or new.

Only inside the owner tree. Unsure never merges; older information never supersedes newer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import connection
from pgvector import HalfVector

from holamem.database.prepared import fetch_rows
from holamem.database.rows import read_rows
from holamem.database.scope import workspace_scope
from holamem.errors import MalformedReply
from workspaces.bodies import BodyCorrupt, BodyMissing, read_markdown
from workspaces.index.embedding import current_model
from workspaces.judging.base import ChunkContext, Judge, LeafView, Relation
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree

MAX_COMPARED = 6
SURE_CONFIDENCE = 0.5  # a judge that doubts its own answer is unsure
MAX_RIVALS = 100  # a subject with more is compared by its newest
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


@dataclass(frozen=True, slots=True)
class KnownLeaf:
    """What a comparison needs of a leaf; `distance` by vector, where it was found by that."""

    id: UUID
    body_path: str
    body_sha256: str
    title: str
    subject_key: str
    observed_at: datetime
    distance: float | None = None


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
    same, rivals, keyed = _known_there(
        workspace, tree=tree, fingerprint=fingerprint, subject_key=subject_key, at=chunk.occurred_at
    )
    if same is not None:
        return Resolution("duplicate", same)
    decided = _against_known(
        workspace,
        tree=tree,
        chunk=chunk,
        subject_key=subject_key,
        keyed=keyed,
        vector=vector,
        judge=judge,
    )
    return replace(decided, rivals=rivals)


# Raw SQL for what is read for every chunk: the ORM takes twice as long to build a statement as
# the database to answer it.
_KNOWN_THERE = """
SELECT id, status, observed_at FROM workspaces_sourceleaf
 WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s AND fingerprint = %(fingerprint)s
   AND status NOT IN ('erasing', 'erased');
SELECT id FROM workspaces_sourceleaf
 WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s AND subject_key = %(subject)s
   AND subject_key <> '' AND status = 'active'
 ORDER BY id DESC LIMIT %(rivals)s;
SELECT * FROM workspaces_sourceleaf
 WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s AND subject_key = %(subject)s
   AND status = 'active'
 ORDER BY observed_at DESC, id DESC LIMIT %(compared)s
"""
_NEAREST = """
SELECT leaf.* FROM (
  SELECT node_id, embedding <=> %(vector)s::halfvec AS distance FROM workspaces_vectorentry
   WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND kind = 'leaf'
     AND tree_id = %(tree)s AND status = 'active' AND model_id = %(model)s
   ORDER BY distance, node_id LIMIT %(compared)s) AS near
  JOIN workspaces_sourceleaf AS leaf ON leaf.workspace_id = %(workspace)s
   AND leaf.id = near.node_id AND leaf.tree_id = %(tree)s AND leaf.status = 'active'
 ORDER BY near.distance, near.node_id
"""


def _against_known(
    workspace: Workspace,
    *,
    tree: Tree,
    chunk: ChunkContext,
    subject_key: str,
    keyed: Sequence[SourceLeaf],
    vector: Sequence[float] | None,
    judge: Judge,
) -> Resolution:
    views = leaf_views(_closest(workspace, tree=tree, keyed=keyed, vector=vector))
    if not views:
        return NEW
    known, relation = judged_relation(chunk, subject_key=subject_key, views=views, judge=judge)
    if known is None:
        return NEW
    if relation == "same_memory":
        return Resolution("duplicate", known)
    return by_time(workspace, tree=tree, leaf_id=known, chunk=chunk)


def _known_there(
    workspace: Workspace, *, tree: Tree, fingerprint: str, subject_key: str, at: datetime
) -> tuple[UUID | None, tuple[UUID, ...], list[SourceLeaf]]:
    """The leaf with this text, the newest active leaves on the subject, and the latest of them.

    With this text: the active leaf, or a re-import: same text, same time, whatever its status.
    """
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "tree": tree.id,
        "fingerprint": fingerprint,
        "subject": subject_key,
        "rivals": MAX_RIVALS,
        "compared": MAX_COMPARED,
    }
    with workspace_scope(workspace, [tree.scope_id]), connection.cursor() as cursor:
        cursor.execute(_KNOWN_THERE, values)
        rows: list[tuple[UUID, str, datetime]] = cursor.fetchall()
        cursor.nextset()
        rivals = tuple(row[0] for row in cursor.fetchall())
        cursor.nextset()
        keyed = read_rows(SourceLeaf, cursor)
    same = (
        leaf_id
        for leaf_id, status, observed_at in rows
        if status == SourceLeaf.Status.ACTIVE or observed_at == at
    )
    return next(same, None), rivals, keyed


def _closest(
    workspace: Workspace,
    *,
    tree: Tree,
    keyed: Sequence[SourceLeaf],
    vector: Sequence[float] | None,
) -> list[SourceLeaf]:
    """At most six active leaves: the same subject key first, then the nearest by vector."""
    with workspace_scope(workspace, [tree.scope_id]):
        near = _nearest(workspace, tree=tree, vector=vector) if vector is not None else []
        keyed = keyed[: MAX_COMPARED - min(len(near), NEAREST_COMPARED)]
    others = [leaf for leaf in near if leaf.id not in {known.id for known in keyed}]
    return [*keyed, *others][:MAX_COMPARED]


def _nearest(workspace: Workspace, *, tree: Tree, vector: Sequence[float]) -> list[SourceLeaf]:
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scope": tree.scope_id,
        "tree": tree.id,
        "model": current_model().pk,
        "vector": HalfVector(list(vector)).to_text(),
        "compared": MAX_COMPARED,
    }
    return list(workspace.leaves.raw(_NEAREST, values))


def leaf_views(
    leaves: Sequence[SourceLeaf | KnownLeaf], *, texts: Mapping[UUID, str] | None = None
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


# When the leaf was observed, and when it was last stated.
_STATED = """
SELECT leaf.observed_at, (
         SELECT max(coalesce(event.occurred_at, event.received_at))
           FROM workspaces_leafsource AS source JOIN workspaces_event AS event
             ON event.workspace_id = source.workspace_id AND event.id = source.event_id
          WHERE source.workspace_id = leaf.workspace_id AND source.leaf_id = leaf.id)
  FROM workspaces_sourceleaf AS leaf WHERE leaf.workspace_id = %(workspace)s AND leaf.id = %(leaf)s
"""


def by_time(workspace: Workspace, *, tree: Tree, leaf_id: UUID, chunk: ChunkContext) -> Resolution:
    """History when it is older than the last time that the known leaf was stated."""
    with workspace_scope(workspace, [tree.scope_id]):
        [(observed_at, stated)] = fetch_rows(_STATED, {"workspace": workspace.pk, "leaf": leaf_id})
    newest = max(stated or observed_at, observed_at)
    return Resolution("history" if chunk.occurred_at < newest else "supersede", leaf_id)

"""Taking leaves from the tree of one entity to the tree of another, a bounded number at a time.

Files first, then one transaction: new leaves, old ones inactive, with sources, links, search
entries and counters. What holds the same text in the other tree already gets the sources.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.functions import Now

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from workspaces.bodies import BodyCorrupt, BodyMissing, read_markdown
from workspaces.body_paths import leaf_path, scope_directory
from workspaces.index.entries import drop_entries, put_leaf_lexemes
from workspaces.models.index import VectorEntry
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LeafEntity, LeafSource, SourceLeaf, Tree
from workspaces.services.entities.resolving import search_names
from workspaces.services.front_matter import Birth
from workspaces.services.jobs import add_job
from workspaces.services.leaf_bodies import write_leaf_body
from workspaces.services.owners import Owner
from workspaces.services.policies import leaf_policy
from workspaces.services.topology import mark_chain_stale, request_seal

# Sealing waits while batches follow each other: a tree that is emptied is not summarised again
# for every batch. Should the batches stop, it runs all the same.
SEAL_PAUSE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Move:
    """One leaf with its text, and the leaf that it becomes, whose file is written."""

    old: SourceLeaf
    new: SourceLeaf
    text: str


def text_of(leaf: SourceLeaf) -> str | None:
    """None when the body cannot be read."""
    try:
        return read_markdown(leaf.body_path, sha256=leaf.body_sha256)
    except (BodyMissing, BodyCorrupt):
        return None


def write_copies(
    workspace: Workspace, *, leaves: Iterable[tuple[SourceLeaf, str]], owner: Owner
) -> list[Move]:
    """The files of the leaves that will be, for one owner; outside of any step."""
    directory = scope_directory(workspace, tree=owner.tree)
    moves = []
    for old, text in leaves:
        new = _copy_of(old, owner=owner, directory=directory)
        birth = _birth_of(workspace, leaf=old, without=new.entity_id)
        body = write_leaf_body(new, owner=owner, text=text, birth=birth)
        new.body_sha256, new.body_bytes = body.sha256, body.size
        moves.append(Move(old, new, text))
    faults.point("move.after_files")
    return moves


def _copy_of(old: SourceLeaf, *, owner: Owner, directory: str) -> SourceLeaf:
    """The same words, observed at the same time; freshness follows the type of its new owner."""
    policy = leaf_policy(owner.entity.type if owner.entity else None)
    leaf_id = new_id()
    return SourceLeaf(
        id=leaf_id,
        workspace_id=old.workspace_id,
        scope_id=old.scope_id,
        category=old.category,
        tree_id=owner.tree.id,
        chunk_id=old.chunk_id,
        entity_id=owner.entity.id if owner.entity else None,
        origin_kind=old.origin_kind,
        session_ref=old.session_ref,
        actor=old.actor,
        title=old.title,
        summary=old.summary,
        body_path=leaf_path(directory, leaf_id=leaf_id),
        fingerprint=old.fingerprint,
        subject_key=old.subject_key,
        observed_at=old.observed_at,
        confidence=old.confidence,
        verification_policy=policy.verification,
        staleness_policy=policy.staleness,
        stale_after_days=policy.stale_after_days,
        moved_from_leaf_id=old.id,
        labels=list(old.labels),
        language=old.language,
        trust=old.trust,
    )


def _birth_of(workspace: Workspace, *, leaf: SourceLeaf, without: UUID | None) -> Birth | None:
    """What the leaf came from, so that its row can be made again from the file."""
    if leaf.chunk_id is None:
        return None
    with workspace_scope(workspace, [leaf.scope_id]):
        chunk = workspace.chunks.select_related("event").get(id=leaf.chunk_id)
        links = workspace.leaf_entities.filter(leaf=leaf).exclude(entity=without)
        secondary = list(links.order_by("entity_id").values_list("entity_id", flat=True))
    return Birth(
        event=chunk.event,
        chunk=chunk,
        decision=chunk.decision,
        match_confidence=chunk.match_confidence,
        create_confidence=chunk.create_confidence,
        judged_by=chunk.judged_by,
        secondary_ids=secondary,
    )


def active_with_text(
    workspace: Workspace, *, tree_id: UUID, fingerprints: Iterable[str]
) -> dict[str, UUID]:
    """By fingerprint: the active leaf of the tree that holds the same text. Inside the step."""
    rows = workspace.leaves.filter(
        tree=tree_id, fingerprint__in=list(fingerprints), status=SourceLeaf.Status.ACTIVE
    )
    return dict(rows.values_list("fingerprint", "id"))


def lock_leaves(workspace: Workspace, *, ids: Iterable[UUID]) -> dict[UUID, SourceLeaf]:
    rows = workspace.leaves.select_for_update(of=("self",)).filter(id__in=list(ids))
    return {leaf.id: leaf for leaf in rows.order_by("id")}


def settle_moves(workspace: Workspace, *, moves: Sequence[Move]) -> None:
    """Rows, links and search entries of the new leaves; the old ones go. Inside the step."""
    SourceLeaf.objects.bulk_create(move.new for move in moves)
    pairs = {move.old.id: move.new for move in moves}
    carry_sources(workspace, pairs=pairs, keep_creator=True)
    carry_mentions(workspace, pairs=pairs)
    names = search_names(workspace, leaves=[move.new for move in moves])
    for move in moves:
        put_leaf_lexemes(workspace, leaf=move.new, text=move.text, entity_names=names[move.new.id])
    carry_vectors(workspace, pairs=pairs)
    retire(workspace, leaves=[move.old for move in moves])


def link_twins(
    workspace: Workspace, *, leaves: Sequence[SourceLeaf], tree_id: UUID
) -> dict[UUID, UUID]:
    """Leaves whose text the other tree holds: its leaf gets the sources, and nothing is doubled.

    Returns the twin of each. Inside the step, with the trees locked.
    """
    texts = [leaf.fingerprint for leaf in leaves]
    twins = active_with_text(workspace, tree_id=tree_id, fingerprints=texts)
    rows = {row.id: row for row in workspace.leaves.filter(id__in=list(twins.values()))}
    pairs = {leaf.id: rows[twins[leaf.fingerprint]] for leaf in leaves}
    carry_sources(workspace, pairs=pairs, keep_creator=False)
    carry_mentions(workspace, pairs=pairs)
    retire(workspace, leaves=leaves)
    return {leaf_id: twin.id for leaf_id, twin in pairs.items()}


def retire(workspace: Workspace, *, leaves: Sequence[SourceLeaf]) -> None:
    """They stand elsewhere now: no longer found, and their summaries are behind."""
    ids = [leaf.id for leaf in leaves]
    workspace.leaves.filter(id__in=ids).update(status=SourceLeaf.Status.INACTIVE, updated_at=now())
    drop_entries(workspace, node_ids=ids)
    mark_chain_stale(workspace, start=[leaf.parent_id for leaf in leaves])


def carry_sources(
    workspace: Workspace, *, pairs: Mapping[UUID, SourceLeaf], keep_creator: bool
) -> None:
    """The events behind each leaf (the keys) stand behind the other one as well."""
    links = workspace.leaf_sources.filter(leaf__in=list(pairs)).order_by("id")
    LeafSource.objects.bulk_create(
        [
            LeafSource(
                workspace=workspace,
                scope_id=link.scope_id,
                leaf=pairs[link.leaf_id],
                event_id=link.event_id,
                is_creator=link.is_creator and keep_creator,
            )
            for link in links
        ],
        ignore_conflicts=True,
    )


def carry_mentions(workspace: Workspace, *, pairs: Mapping[UUID, SourceLeaf]) -> None:
    """Secondary entities go along, but for the one that owns the leaf now."""
    links = workspace.leaf_entities.filter(leaf__in=list(pairs)).order_by("id")
    LeafEntity.objects.bulk_create(
        [
            LeafEntity(
                workspace=workspace,
                scope_id=link.scope_id,
                leaf=pairs[link.leaf_id],
                entity_id=link.entity_id,
            )
            for link in links
            if link.entity_id != pairs[link.leaf_id].entity_id
        ],
        ignore_conflicts=True,
    )


def carry_vectors(workspace: Workspace, *, pairs: Mapping[UUID, SourceLeaf]) -> None:
    """The text is the same, so is its vector; a leaf whose own was not made yet waits for it."""
    rows = workspace.vector_entries.filter(node_id__in=list(pairs))
    known = {entry.node_id: entry for entry in rows}
    VectorEntry.objects.bulk_create(
        VectorEntry(
            workspace=workspace,
            scope_id=leaf.scope_id,
            node_id=leaf.id,
            tree_id=leaf.tree_id,
            kind="leaf",
            status=leaf.status,
            model_id=known[old_id].model_id,
            source_sha256=leaf.body_sha256,
            embedding=known[old_id].embedding,
        )
        for old_id, leaf in pairs.items()
        if old_id in known
    )
    for old_id, leaf in pairs.items():
        if old_id not in known:
            add_job(
                workspace, topic=Job.Topic.NODE_CREATED, target_id=leaf.id, scope_id=leaf.scope_id
            )


def count_and_seal(workspace: Workspace, *, tree: Tree, added: int) -> None:
    """Leaves by difference; a pass over the tree is queued, and waits for the next batch."""
    workspace.trees.filter(id=tree.id).update(
        leaf_count=F("leaf_count") + added, status=Tree.Status.ACTIVE, updated_at=now()
    )
    request_seal(workspace, tree=tree)
    _ready_seal(workspace, tree_id=tree.id).update(
        next_try_at=Now() + timedelta(seconds=SEAL_PAUSE_SECONDS)
    )


def seal_at_last(workspace: Workspace, *, trees: Iterable[Tree]) -> None:
    """The batches are over: a tree with no leaf left is empty, and sealing waits no longer."""
    for tree in trees:
        workspace.trees.filter(id=tree.id, leaf_count=0).update(status=Tree.Status.EMPTY)
        request_seal(workspace, tree=tree)
        _ready_seal(workspace, tree_id=tree.id).update(next_try_at=Now())


def _ready_seal(workspace: Workspace, *, tree_id: UUID) -> QuerySet[Job]:
    return workspace.jobs.filter(
        topic=Job.Topic.TREE_DIRTY, target_id=tree_id, state=Job.State.READY, attempts=0
    )

"""Building the search index again from the bodies: it is derived data and may always be dropped."""

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.providers.base import Embedder
from holamem.providers.registry import embedder
from workspaces.bodies import BodyCorrupt, BodyMissing, read_markdown
from workspaces.index.embedding import current_model
from workspaces.index.entries import put_leaf_lexemes, put_summary_lexemes, put_vector
from workspaces.models.index import EmbeddingModel, VectorEntry
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode
from workspaces.services.entities.resolving import search_names
from workspaces.services.indexing import (
    EMBEDDED_LEAVES,
    EMBEDDED_SUMMARIES,
    find_node,
    text_of,
)
from workspaces.services.summaries import without_citations

BATCH = 64
Node = SourceLeaf | SummaryNode
Progress = Callable[[int], None]


def reindex_workspace(workspace: Workspace, *, on_batch: Progress = lambda count: None) -> int:
    """Write the lexemes of every node again; returns how many. A node without body is left out."""
    done = 0
    for ids in _batches(searchable_ids(workspace)):
        done += sum(reindex_node(workspace, node_id=node_id) for node_id in ids)
        on_batch(done)
    return done


def reindex_node(workspace: Workspace, *, node_id: UUID) -> bool:
    """False when the node went meanwhile, or its body cannot be read."""
    with workspace_scope(workspace, ALL_SCOPES):
        node = find_node(workspace, node_id=node_id)
    text = _text(node, read=lambda found: read_markdown(found.body_path, sha256=found.body_sha256))
    if text is None:
        return False
    with workspace_scope(workspace, ALL_SCOPES):
        current = find_node(workspace, node_id=node_id, hold=True)
        if isinstance(current, SourceLeaf):
            names = entity_names(workspace, leaf=current)
            put_leaf_lexemes(workspace, leaf=current, text=text, entity_names=names)
        elif current is not None:
            put_summary_lexemes(workspace, node=current, text=without_citations(text))
    return current is not None


def entity_names(workspace: Workspace, *, leaf: SourceLeaf) -> list[str]:
    """Of the primary entity and the secondary ones, without the fallback bucket's name."""
    return search_names(workspace, leaves=[leaf])[leaf.id]


def reembed_workspace(
    workspace: Workspace, *, model: EmbeddingModel, on_batch: Progress = lambda count: None
) -> int:
    """Give every node a vector of `model`, in batches; returns how many were made.

    A node that has one already is left alone, so that a run that stopped goes on where it was.
    """
    client = embedder()
    done = 0
    for ids in _batches(ids_without_vector(workspace, model=model)):
        done += _embed_batch(workspace, ids=ids, model=model, client=client)
        on_batch(done)
    return done


def _embed_batch(
    workspace: Workspace, *, ids: Sequence[UUID], model: EmbeddingModel, client: Embedder
) -> int:
    with workspace_scope(workspace, ALL_SCOPES):
        found = [find_node(workspace, node_id=node_id) for node_id in ids]
    readable = [(node, text) for node in found if node and (text := _text(node, read=text_of))]
    vectors = client.embed_passages([text for _, text in readable])
    with workspace_scope(workspace, ALL_SCOPES):
        for (node, _), vector in zip(readable, vectors, strict=True):
            if vector and find_node(workspace, node_id=node.id, hold=True) is not None:
                put_vector(workspace, node=node, model=model, vector=vector)
    return len(readable)


def _text(node: Node | None, *, read: Callable[[Node], str]) -> str | None:
    """None without a node, or with a body that cannot be read: `verify` names those."""
    if node is None:
        return None
    try:
        return read(node)
    except (BodyMissing, BodyCorrupt):
        return None


def searchable_ids(workspace: Workspace) -> list[UUID]:
    """Leaves, then summaries, in order of id."""
    with workspace_scope(workspace, ALL_SCOPES):
        leaves = workspace.leaves.filter(status__in=EMBEDDED_LEAVES)
        summaries = workspace.summaries.filter(status__in=EMBEDDED_SUMMARIES)
        return [
            *leaves.order_by("id").values_list("id", flat=True),
            *summaries.order_by("id").values_list("id", flat=True),
        ]


def ids_without_vector(workspace: Workspace, *, model: EmbeddingModel) -> list[UUID]:
    with workspace_scope(workspace, ALL_SCOPES):
        have = set(workspace.vector_entries.filter(model=model).values_list("node_id", flat=True))
    return [node_id for node_id in searchable_ids(workspace) if node_id not in have]


def _batches(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


def prepare_embedding_model(*, name: str, dimension: int) -> EmbeddingModel:
    """The row of the model that vectors are to be made with; not current before the switch."""
    with system_scope():
        model, _ = EmbeddingModel.objects.update_or_create(
            name=name,
            defaults={"dimension": dimension},
            create_defaults={"dimension": dimension, "is_current": False},
        )
    return model


def switch_embedding_model(model: EmbeddingModel) -> None:
    """Make this model the current one; vectors of any other go, since two models never mix."""
    with system_scope():
        EmbeddingModel.objects.filter(is_current=True).update(is_current=False)
        EmbeddingModel.objects.filter(id=model.pk).update(is_current=True)
        VectorEntry.objects.exclude(model=model).delete()
    current_model.cache_clear()

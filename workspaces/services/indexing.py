"""Handler of `node.created`: give a node its vector, then say that it is indexed."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.database.statements import run_together
from holamem.providers.registry import embedder
from holamem.text.tokens import truncate
from workspaces.bodies import BodyCorrupt, BodyMissing, read_markdown
from workspaces.index.embedding import current_model, passage_text
from workspaces.index.entries import vector_statement
from workspaces.models.index import EmbeddingModel
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode
from workspaces.services.job_rows import NewJob, new_jobs_statement
from workspaces.services.jobs import ClaimedJob, LeaseLost, held_leases, wake_for
from workspaces.services.summaries import without_citations

Node = SourceLeaf | SummaryNode

SUMMARY_EMBEDDING_TOKENS = 240  # a full summary costs eight leaves' time and routes no better
EMBEDDED_LEAVES = (SourceLeaf.Status.ACTIVE, SourceLeaf.Status.SUPERSEDED)
EMBEDDED_SUMMARIES = (SummaryNode.Status.SEALED, SummaryNode.Status.STALE)


def index_node(workspace: Workspace, job: ClaimedJob) -> None:
    """A node that went meanwhile needs nothing. Raises ProviderError while the model is out."""
    for error in index_nodes(workspace, [job]).values():
        raise error


def index_nodes(workspace: Workspace, jobs: Sequence[ClaimedJob]) -> dict[UUID, Exception]:
    """The same for several of one scope, embedded together; errors by job."""
    scopes = [jobs[0].scope_id]
    with workspace_scope(workspace, scopes):
        waiting = find_nodes(workspace, node_ids=[job.target_id for job in jobs])
        known = _indexed(workspace, nodes=waiting)
    texts, unreadable = _texts([node for node in waiting if node.id not in known])
    vectors = dict(zip(texts, embedder().embed_passages(list(texts.values())), strict=True))
    model = current_model() if any(vectors.values()) else None
    with workspace_scope(workspace, scopes):
        made = find_nodes(workspace, node_ids=list(texts), hold=True) if texts else []
        held = held_leases(jobs)
        ready = {job.target_id for job in jobs if job.id in held}
        nodes = [node for node in waiting if node.id in known] + made
        nodes = [node for node in nodes if node.id in ready]
        _put(workspace, nodes=nodes, model=model, vectors=vectors)
    lost: dict[UUID, Exception] = {job.id: LeaseLost() for job in jobs if job.id not in held}
    broken = {job.id: unreadable[job.target_id] for job in jobs if job.target_id in unreadable}
    return broken | lost


def _indexed(workspace: Workspace, *, nodes: Sequence[Node]) -> set[UUID]:
    """Those whose vector is of the body that they have."""
    rows = workspace.vector_entries.filter(node_id__in=[node.id for node in nodes])
    stored = set(rows.values_list("node_id", "source_sha256"))
    return {node.id for node in nodes if (node.id, node.body_sha256) in stored}


def _texts(nodes: Sequence[Node]) -> tuple[dict[UUID, str], dict[UUID, Exception]]:
    """What is embedded, and why the others cannot be."""
    texts: dict[UUID, str] = {}
    unreadable: dict[UUID, Exception] = {}
    for node in nodes:
        try:
            texts[node.id] = text_of(node)
        except (BodyMissing, BodyCorrupt) as error:
            unreadable[node.id] = error
    return texts, unreadable


def _put(
    workspace: Workspace,
    *,
    nodes: Sequence[Node],
    model: EmbeddingModel | None,
    vectors: Mapping[UUID, Sequence[float]],
) -> None:
    """Vectors that were made, and the word that the nodes are indexed."""
    jobs = [NewJob(Job.Topic.NODE_INDEXED, node.id, node.scope_id) for node in nodes]
    made = [
        vector_statement(workspace, node=node, model=model, vector=vectors[node.id])
        for node in nodes
        if model is not None and vectors.get(node.id)
    ]
    run_together([*made, *([new_jobs_statement(workspace, jobs=jobs)] if jobs else [])])
    wake_for(jobs)


def find_nodes(workspace: Workspace, *, node_ids: Sequence[UUID], hold: bool = False) -> list[Node]:
    """Those that belong in the index; inside the caller's step.

    `hold` keeps it so until the step ends: what is forgotten meanwhile must not come back.
    """
    leaves, summaries = workspace.leaves.order_by("id"), workspace.summaries.order_by("id")
    if hold:
        leaves = leaves.select_for_update(no_key=True)
        summaries = summaries.select_for_update(no_key=True)
    found: list[Node] = list(leaves.filter(id__in=node_ids, status__in=EMBEDDED_LEAVES))
    if len(found) < len(node_ids):
        found += summaries.filter(id__in=node_ids, status__in=EMBEDDED_SUMMARIES)
    return found


def find_node(workspace: Workspace, *, node_id: UUID, hold: bool = False) -> Node | None:
    """A leaf or summary that belongs in the index; inside the caller's step."""
    return next(iter(find_nodes(workspace, node_ids=[node_id], hold=hold)), None)


def text_of(node: Node) -> str:
    text = read_markdown(node.body_path, sha256=node.body_sha256)
    if isinstance(node, SourceLeaf):
        return passage_text(text=text, actor=node.actor)
    return truncate(f"{node.title}\n{without_citations(text)}", SUMMARY_EMBEDDING_TOKENS)

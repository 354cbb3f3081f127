"""Usage: what model calls took, quotas, and services that are let alone."""

from datetime import date

from holamem.providers.base import Usage
from tests.dashboard.pages import page_of
from tests.dashboard.people import make_person, signed_in_client
from workspaces.dashboard.charts import BOTTOM, TOP
from workspaces.dashboard.stacks import OTHER, DayOfKinds, draw_stacks
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.usage import CallMade, record_model_call


def record(workspace: Workspace, purpose: str, **values: object) -> None:
    call = CallMade(
        purpose=purpose,
        provider="llm.example.com",
        model="small",
        usage=Usage(1200, 34, estimated=False),
        scope_id=workspace.pk,
        **values,  # type: ignore[arg-type]
    )
    record_model_call(workspace, call=call)


def test_usage_shows_calls_tokens_and_quotas(tenant: Tenant, workspace: Workspace) -> None:
    admin = signed_in_client(make_person(tenant, role="admin"))
    address = f"/w/{tenant.slug}/{workspace.slug}/settings/usage/"
    assert "HOLAMEM_CHAT_MODEL" in page_of(admin.get(address))
    record(workspace, "summary")
    record(workspace, "admission")
    page = page_of(admin.get(address))
    assert "2,400" in page
    assert page.count('class="series-') == 2
    assert "Tokens today" in page
    member = signed_in_client(make_person(tenant, role="member"))
    assert member.get(address).status_code == 403


def test_a_service_that_is_let_alone_is_told_on_the_first_page(
    tenant: Tenant, workspace: Workspace
) -> None:
    viewer = signed_in_client(make_person(tenant, role="viewer"))
    overview = f"/w/{tenant.slug}/{workspace.slug}/"
    record(workspace, "summary")
    assert "llm.example.com" not in page_of(viewer.get(overview))
    for _ in range(3):
        record(workspace, "summary", outcome="failed", error="timeout")
    page = page_of(viewer.get(overview))
    assert "llm.example.com" in page
    assert "the service is left alone" in page


def test_stacks_reach_up_to_their_sum_and_the_rest_is_other() -> None:
    counts = {"a": 50, "b": 30, "c": 15, "d": 5}
    chart = draw_stacks([DayOfKinds(date(2026, 5, 1), {}), DayOfKinds(date(2026, 5, 2), counts)])
    empty, full = chart.stacks
    assert empty.pieces == []
    assert [piece.series for piece in full.pieces] == [1, 2, 3, 4]
    assert chart.kinds == [(1, "a"), (2, "b"), (3, "c"), (4, OTHER)]
    assert full.pieces[0].y + full.pieces[0].height == BOTTOM
    for below, above in zip(full.pieces, full.pieces[1:], strict=False):
        assert above.y + above.height == below.y
    assert TOP <= full.pieces[-1].y < BOTTOM
    assert draw_stacks([]).stacks == []

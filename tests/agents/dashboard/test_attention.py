"""Attention: what waits for a person is in one place, and is acted on there."""

import re

from agents.dashboard.attention import inbox_of
from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.agents.dashboard.story import waiting
from tests.dashboard.memory import add_gap, add_parked_job
from tests.dashboard.pages import messages_in, page_of
from tests.dashboard.people import make_person, signed_in_client
from workspaces.models.tenancy import Tenant, Workspace


def address(workspace: Workspace) -> str:
    return f"/w/{workspace.tenant.slug}/{workspace.slug}/attention/"


def test_an_empty_inbox_says_what_will_be_here(tenant: Tenant, workspace: Workspace) -> None:
    page = page_of(signed_in_client(make_person(tenant, role="viewer")).get(address(workspace)))
    assert "Nothing waits for you" in page
    assert inbox_of(workspace, scopes=ALL_SCOPES).is_empty


def test_what_waits_is_listed_and_decided_in_place(tenant: Tenant, workspace: Workspace) -> None:
    talk = waiting(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        gap = add_gap(workspace, "Which port is right?")
        workspace.gaps.filter(id=gap.id).update(kind="conflicting")
        add_parked_job(workspace)
    member = signed_in_client(make_person(tenant, role="member"))
    page = page_of(member.get(address(workspace)))
    for words in ("memory_write", "Which port is right?", "The model did not answer."):
        assert words in page
    [decide] = re.findall(r'action="([^"]+/decide/)"', page)
    answer = member.post(decide, {"all": "denied", "after": "attention"})
    assert answer["Location"] == address(workspace)
    assert "Denied" in messages_in(page_of(member.get(address(workspace))))
    assert inbox_of(workspace, scopes=ALL_SCOPES).approvals == []
    assert [call.status for call in talk.reload()] == ["denied"]


def test_a_viewer_sees_what_waits_and_cannot_act(tenant: Tenant, workspace: Workspace) -> None:
    waiting(workspace)
    viewer = signed_in_client(make_person(tenant, role="viewer"))
    page = page_of(viewer.get(address(workspace)))
    assert "memory_write" in page
    assert "/decide/" not in page
    assert "Members of this tenant decide." in page

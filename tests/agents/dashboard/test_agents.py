"""Agents as pages: admins set them up, everybody sees how they are set up."""

from agents.services.agents import get_agent
from tests.dashboard.pages import messages_in, page_of
from tests.dashboard.people import make_person, signed_in_client
from workspaces.models.tenancy import Tenant, Workspace

FILLED = {
    "slug": "reviewer",
    "name": "Reviewer",
    "system_prompt": "Read first.\r\nThen answer.",
    "tools": ["ping", "memory_read"],
    "mode": "observe",
    "context_tokens": "8000",
    "output_tokens": "500",
    "tool_calls": "5",
    "cost": "0.25",
    "recall": "on",
}


def base(workspace: Workspace) -> str:
    return f"/w/{workspace.tenant.slug}/{workspace.slug}/agents/"


def test_an_admin_makes_an_agent_and_changes_it(tenant: Tenant, workspace: Workspace) -> None:
    admin = signed_in_client(make_person(tenant, role="admin"))
    assert "asks for approval" in page_of(admin.get(f"{base(workspace)}new/"))
    assert admin.post(f"{base(workspace)}new/", FILLED).status_code == 302
    made = get_agent(workspace, slug="reviewer")
    assert made.system_prompt == "Read first.\nThen answer."
    assert (made.tools, made.mode) == (["ping", "memory_read"], "observe")
    assert (made.recall, made.feeds_memory, str(made.cost)) == (True, False, "0.2500")
    assert "Reviewer" in page_of(admin.get(base(workspace)))
    changed = {**FILLED, "tools": [], "cost": ""}
    assert admin.post(f"{base(workspace)}reviewer/", changed).status_code == 302
    after = get_agent(workspace, slug="reviewer")
    assert (after.tools, after.cost) == ([], None)


def test_a_refused_agent_names_its_fields_and_keeps_what_was_typed(
    tenant: Tenant, workspace: Workspace
) -> None:
    owner = signed_in_client(make_person(tenant))
    wrong = {**FILLED, "context_tokens": "10", "name": "Kept"}
    page = page_of(owner.post(f"{base(workspace)}new/", wrong))
    assert '<span class="id">context_tokens</span>' in page.split('role="alert"')[1]
    assert 'value="Kept"' in page
    assert '<span class="id">slug</span>' in page_of(
        owner.post(f"{base(workspace)}new/", {**FILLED, "slug": "new"})
    )
    owner.post(f"{base(workspace)}new/", FILLED)
    taken = page_of(owner.post(f"{base(workspace)}new/", FILLED))
    assert "already" in taken.split('role="alert"')[1]


def test_an_agent_is_archived_and_used_again_but_the_default_stays(
    tenant: Tenant, workspace: Workspace
) -> None:
    owner = signed_in_client(make_person(tenant))
    owner.post(f"{base(workspace)}new/", FILLED)
    owner.post(f"{base(workspace)}reviewer/archive/")
    assert get_agent(workspace, slug="reviewer").archived_at is not None
    sessions = f"/w/{tenant.slug}/{workspace.slug}/sessions/"
    refused = owner.post(sessions, {"agent": "reviewer", "content": "Hello"})
    assert "archived" in page_of(refused).split('role="alert"')[1]
    owner.post(f"{base(workspace)}reviewer/archive/", {"archived": "no"})
    assert get_agent(workspace, slug="reviewer").archived_at is None
    owner.post(f"{base(workspace)}default/archive/")
    assert "default agent stays" in messages_in(page_of(owner.get(base(workspace))))


def test_members_see_agents_and_change_none(tenant: Tenant, workspace: Workspace) -> None:
    member = signed_in_client(make_person(tenant, role="member"))
    page = page_of(member.get(f"{base(workspace)}default/"))
    assert "disabled" in page
    assert "Save agent" not in page
    assert member.post(f"{base(workspace)}default/", FILLED).status_code == 403
    assert member.get(f"{base(workspace)}new/").status_code == 403
    assert member.get(f"{base(workspace)}nobody/").status_code == 404

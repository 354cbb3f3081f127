"""Text memory and its history as pages: rendered, with versions, deleted by who may."""

from agents.hot.text_memory import TopicDraft, Writer, upsert_topic
from agents.services.sessions import create_session
from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.agents import replies
from tests.agents.dashboard.story import distilled, save_topics
from tests.dashboard.pages import messages_in, page_of
from tests.dashboard.people import make_person, signed_in_client
from tests.verification import assert_clean
from workspaces.models.tenancy import Tenant, Workspace


def base(workspace: Workspace) -> str:
    return f"/w/{workspace.tenant.slug}/{workspace.slug}/text-memory/"


def test_text_memory_is_shown_with_versions_and_who_holds_it(
    tenant: Tenant, workspace: Workspace
) -> None:
    viewer = signed_in_client(make_person(tenant, role="viewer"))
    assert "memory_write" in page_of(viewer.get(base(workspace)))
    create_session(workspace, scope_id=workspace.pk)
    topic, index = save_topics(workspace)
    create_session(workspace, scope_id=workspace.pk)
    page = page_of(viewer.get(base(workspace)))
    assert "how we write here" in page
    assert "old plans" not in page
    assert f'text-memory/{topic}/" rel' in page, "a line of the index leads to its topic"
    assert "Sign out" in page
    assert page.count("the index of now") == page.count("an older index") == 1
    shown = page_of(viewer.get(f"{base(workspace)}{topic}/"))
    assert "<h3>House style</h3>" in shown
    assert "<ins> and plain</ins>" in shown or "<ins>and plain </ins>" in shown
    assert "Delete topic" not in shown
    assert "Version 3" in page_of(viewer.get(f"{base(workspace)}{index}/"))
    assert_clean(workspace)


def test_a_text_memory_topic_is_deleted_with_its_line(tenant: Tenant, workspace: Workspace) -> None:
    topic, index = save_topics(workspace)
    member = signed_in_client(make_person(tenant, role="member"))
    address = f"{base(workspace)}{topic}/"
    member.post(f"{address}delete/", {"version": "1"})
    assert "version 2 by now" in messages_in(page_of(member.get(address)))
    assert member.post(f"{address}delete/", {"version": "2"})["Location"] == base(workspace)
    page = page_of(member.get(base(workspace)))
    assert "how we write here" not in page
    gone = page_of(member.get(address))
    assert "was deleted. Its versions are kept." in gone
    assert "Delete topic" not in gone
    assert member.post(f"{base(workspace)}{index}/delete/").status_code in (302, 404)
    with workspace_scope(workspace):
        assert workspace.text_memories.get(id=index).deleted_at is None
    assert_clean(workspace)


def test_text_memory_of_an_end_user_is_deleted_by_admins_only(
    tenant: Tenant, workspace: Workspace
) -> None:
    user_id = replies.end_user(workspace)
    row = upsert_topic(
        workspace,
        scope_id=user_id,
        topic=TopicDraft("diet", "No peanuts.", "what she eats"),
        writer=Writer(origin="person"),
    )
    member = signed_in_client(make_person(tenant, role="member"))
    assert "what she eats" in page_of(member.get(f"{base(workspace)}?user=ana"))
    assert "what she eats" not in page_of(member.get(base(workspace)))
    assert member.get(f"{base(workspace)}?user=nobody").status_code == 404
    assert member.post(f"{base(workspace)}{row.id}/delete/").status_code == 403
    admin = signed_in_client(make_person(tenant, role="admin"))
    answer = admin.post(f"{base(workspace)}{row.id}/delete/", {"version": "1"})
    assert answer["Location"] == f"{base(workspace)}?user=ana"
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.text_memories.get(id=row.id).deleted_at is not None


def test_the_history_is_read_and_its_chain_checked(tenant: Tenant, workspace: Workspace) -> None:
    address = f"/w/{tenant.slug}/{workspace.slug}/history/"
    admin = signed_in_client(make_person(tenant, role="admin"))
    assert "Nothing has been written" in page_of(admin.get(address))
    save_topics(workspace)
    page = page_of(admin.get(f"{address}?check=yes"))
    assert page.index("text memory deleted") < page.index("text memory saved")
    assert "the chain is whole" in page
    assert '<form method="post"' not in page.split("<h1")[1]
    assert page_of(admin.get(f"{address}?before=2")).count("text memory saved") == 1
    viewer = signed_in_client(make_person(tenant, role="viewer"))
    assert "the chain is whole" not in page_of(viewer.get(f"{address}?check=yes"))


def test_a_distill_pass_reports_what_it_kept_and_dropped(
    tenant: Tenant, workspace: Workspace
) -> None:
    address = f"/w/{tenant.slug}/{workspace.slug}/distillations/"
    viewer = signed_in_client(make_person(tenant, role="viewer"))
    assert "No session has been distilled yet" in page_of(viewer.get(address))
    distilled(workspace)
    page = page_of(viewer.get(address))
    assert "Night shift" in page
    assert "messages: 12 · results of tools: 3 · kept: 1 · dropped: 1" in page
    assert "an intention, not a fact" in page
    assert "the model service is left alone" in page

"""Every page: works, is empty, asks for sign-in, is not found for others, costs a fixed price."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.dashboard.memory import Filled, add_gap
from tests.dashboard.people import PASSWORD, make_person, signed_in_client
from tests.workspaces.memory import draft, remember
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Tenant, Workspace

PAGES = [
    "", "trees/", "entities/", "ask/", "gaps/", "events/", "jobs/", "integrations/", "audit/",
]  # fmt: skip
MAX_QUERIES = 60  # transaction control and roles included


def test_the_pages_show_what_the_memory_holds(owner: Client, filled: Filled) -> None:
    shown = {
        "": "Newest leaves",
        "trees/": "Atlas",
        f"trees/{filled.tree_id}/": "Outline",
        f"nodes/{filled.leaf_id}/": "listens on port 8443",
        f"nodes/{filled.summary_id}/": "Made from",
        "gaps/": "What is the budget?",
        "events/": "written in Go",
        "jobs/?state=parked": "Retry job",
    }
    for path, words in shown.items():
        response = owner.get(filled.address(path))
        assert response.status_code == 200, path
        assert words in response.content.decode(), path


def test_a_question_shows_its_evidence_with_marks_and_the_prompt(
    owner: Client, filled: Filled
) -> None:
    response = owner.get(filled.address("ask/"), {"q": "Which port does the Atlas gateway use?"})
    page = response.content.decode()
    assert response.status_code == 200
    assert "8443" in page
    assert "<mark>port</mark>" in page
    assert "holamem-memory" in page


@pytest.mark.parametrize(
    "query", [{"q": "port", "as_of": "never"}, {"q": "x" * 4001}, {"q": "\x00"}]
)
def test_a_question_that_cannot_be_read_is_told_on_the_page(
    owner: Client, filled: Filled, query: dict[str, str]
) -> None:
    response = owner.get(filled.address("ask/"), query)
    assert response.status_code == 200
    assert 'role="alert"' in response.content.decode()


@pytest.mark.parametrize("path", PAGES)
def test_an_empty_workspace_gets_a_command_to_run(
    workspace: Workspace, tenant: Tenant, path: str
) -> None:
    client = signed_in_client(make_person(tenant))
    page = client.get(f"/w/{tenant.slug}/{workspace.slug}/{path}").content.decode()
    assert "curl" in page


@pytest.mark.parametrize("path", PAGES)
def test_a_page_asks_for_sign_in(filled: Filled, path: str) -> None:
    address = filled.address(path)
    response = Client().get(address)
    assert response.status_code == 302
    assert response["Location"] == f"/login/?next={address}"


def test_another_tenants_workspace_is_not_found(stranger: Client, filled: Filled) -> None:
    for path in (*PAGES, f"trees/{filled.tree_id}/", f"nodes/{filled.leaf_id}/"):
        assert stranger.get(filled.address(path)).status_code == 404, path
    dismissed = stranger.post(filled.address(f"gaps/{filled.gap_id}/dismiss/"))
    assert dismissed.status_code == 404


def test_a_node_of_another_workspace_is_not_found(
    filled: Filled, workspace: Workspace, tenant: Tenant
) -> None:
    client = signed_in_client(make_person(tenant))
    for path in (f"nodes/{filled.leaf_id}/", f"trees/{filled.tree_id}/"):
        assert client.get(f"/w/{tenant.slug}/{workspace.slug}/{path}").status_code == 404


def test_an_unknown_node_looks_like_one_of_another_tenant(
    owner: Client, stranger: Client, filled: Filled
) -> None:
    unknown = owner.get(filled.address("nodes/01900000-0000-7000-8000-000000000000/"))
    foreign = stranger.get(filled.address(f"nodes/{filled.leaf_id}/"))
    assert unknown.status_code == foreign.status_code == 404


@pytest.mark.parametrize("path", ["gaps/{gap_id}/dismiss/", "jobs/{job_id}/retry/"])
def test_a_viewer_changes_nothing(viewer: Client, filled: Filled, path: str) -> None:
    address = filled.address(path.format(gap_id=filled.gap_id, job_id=filled.job_id))
    assert viewer.post(address).status_code == 403
    assert viewer.get(address).status_code == 405


def test_a_post_without_its_token_is_refused(filled: Filled) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_person(filled.tenant))
    assert client.post(filled.address(f"jobs/{filled.job_id}/retry/")).status_code == 403


def test_a_parked_job_is_retried_and_cancelled(owner: Client, filled: Filled) -> None:
    owner.post(filled.address(f"jobs/{filled.job_id}/retry/"))
    assert _job_state(filled) == "ready"
    owner.post(filled.address(f"jobs/{filled.job_id}/cancel/"))
    assert _job_state(filled) == "cancelled"
    with workspace_scope(filled.workspace, ALL_SCOPES):
        Job.objects.filter(id=filled.job_id).update(state="parked")


def _job_state(filled: Filled) -> str:
    with workspace_scope(filled.workspace, ALL_SCOPES):
        return Job.objects.get(id=filled.job_id).state


def test_a_dismissed_gap_leaves_the_open_list(owner: Client, filled: Filled) -> None:
    with workspace_scope(filled.workspace, ALL_SCOPES):
        gap = add_gap(filled.workspace, question="Who waters the plants?")
    owner.post(filled.address(f"gaps/{gap.id}/dismiss/"))
    assert "plants" not in owner.get(filled.address("gaps/")).content.decode()
    assert "plants" in owner.get(filled.address("gaps/?status=dismissed")).content.decode()


def test_the_most_wanted_gap_comes_first(owner: Client, filled: Filled) -> None:
    with workspace_scope(filled.workspace, ALL_SCOPES):
        add_gap(filled.workspace, question="Asked once", times=1)
        add_gap(filled.workspace, question="Asked often", times=90)
    page = owner.get(filled.address("gaps/")).content.decode()
    assert page.index("Asked often") < page.index("Asked once")


def test_the_search_for_trees_filters_by_title_and_category(owner: Client, filled: Filled) -> None:
    hit = owner.get(filled.address("trees/"), {"q": "atlas", "category": "interaction"})
    miss = owner.get(filled.address("trees/"), {"category": "integration"})
    assert str(filled.tree_id) in hit.content.decode()
    assert str(filled.tree_id) not in miss.content.decode()


def test_events_are_filtered_by_what_became_of_them(owner: Client, filled: Filled) -> None:
    created = owner.get(filled.address("events/"), {"outcome": "created"}).content.decode()
    assert "written in Go" in created
    rejected = owner.get(filled.address("events/"), {"outcome": "rejected"}).content.decode()
    assert "No event matches this filter." in rejected


@pytest.mark.parametrize("page", ["0", "-1", "x", "99999999999999999999", "3999", "²"])
def test_a_strange_page_number_is_no_error(owner: Client, filled: Filled, page: str) -> None:
    for path in ("trees/", "events/", "jobs/", "gaps/"):
        assert owner.get(filled.address(path), {"page": page}).status_code == 200


def test_the_language_and_the_html_lang_follow_the_choice(owner: Client, filled: Filled) -> None:
    owner.post("/language/", {"language": "zh-hans", "next": filled.address()})
    page = owner.get(filled.address()).content.decode()
    assert '<html lang="zh-hans">' in page
    assert "最新的叶子" in page


def test_the_times_follow_the_viewer_and_else_the_workspace(tenant: Tenant) -> None:
    from workspaces.services.tenants import create_workspace

    workspace = create_workspace(
        tenant, slug="shanghai", name="Shanghai", settings={"time_zone": "Asia/Shanghai"}
    )
    result = remember(workspace, draft("The Atlas gateway listens on port 8443."))[0]
    client = signed_in_client(make_person(tenant))
    address = f"/w/{tenant.slug}/shanghai/nodes/{result.chunks[0].leaf_id}/"
    page = client.get(address).content.decode()
    assert "2026-05-20 17:30" in page
    assert "Asia/Shanghai, UTC+08:00" in page
    client.cookies["holamem_zone"] = "Europe/Prague"
    assert "2026-05-20 11:30" in client.get(address).content.decode()
    client.cookies["holamem_zone"] = "../etc/passwd"
    assert "2026-05-20 17:30" in client.get(address).content.decode()


@pytest.mark.parametrize("path", ["", "trees/", "events/", "jobs/", "gaps/"])
def test_a_page_costs_the_same_with_more_rows(owner: Client, tenant: Tenant, path: str) -> None:
    from workspaces.services.tenants import create_workspace

    workspace = create_workspace(tenant, slug="growing", name="Growing")
    client = signed_in_client(make_person(tenant))
    address = f"/w/{tenant.slug}/growing/{path}"
    remember(workspace, draft("The Atlas gateway listens on port 8443."))
    client.get(address)
    few = _count_queries(client, address)
    remember(
        workspace,
        draft("The Harbor tool deploys every service.", minutes=1),
        draft("The Ledger service writes all invoices.", minutes=2),
        draft("The Beacon board shows every alarm.", minutes=3),
    )
    assert _count_queries(client, address) == few <= MAX_QUERIES


def _count_queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_sign_in_works_and_leads_to_the_first_workspace(filled: Filled) -> None:
    user = make_person(filled.tenant)
    client = Client()
    client.post("/login/", {"username": user.username, "password": PASSWORD})
    assert client.get("/", follow=True).redirect_chain[-1][0] == filled.address()


def test_ten_wrong_passwords_make_the_name_wait(filled: Filled) -> None:
    user = make_person(filled.tenant)
    client = Client(REMOTE_ADDR="192.0.2.77")
    for _ in range(10):
        client.post("/login/", {"username": user.username, "password": "wrong"})
    late = client.post("/login/", {"username": user.username, "password": PASSWORD})
    assert late.status_code == 429
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/"])
def test_sign_in_never_leads_to_another_site(filled: Filled, target: str) -> None:
    user = make_person(filled.tenant)
    data = {"username": user.username, "password": PASSWORD, "next": target}
    assert Client().post("/login/", data)["Location"] == "/"


def test_a_person_without_a_tenant_is_told_what_to_do() -> None:
    page = signed_in_client(make_person(None)).get("/").content.decode()
    assert "manage.py up" in page

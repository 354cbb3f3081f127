"""The admin: every model, read-only memory, one tenant for its staff, secrets shown once."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import Client

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.dashboard.memory import Filled
from tests.dashboard.people import make_person, signed_in_client
from workspaces.models.jobs import Job
from workspaces.models.tenancy import ApiKey, Tenant, Workspace
from workspaces.services.api_keys import issue_key
from workspaces.services.principals import admit_key

MODELS = [
    model
    for label in ("workspaces", "retrieval")
    for model in apps.get_app_config(label).get_models()
]
EDITABLE = {"Tenant", "Membership", "Workspace", "ApiKey"}


@pytest.fixture
def root(filled: Filled) -> Client:
    return signed_in_client(make_person(filled.tenant, is_staff=True, is_superuser=True))


@pytest.fixture
def staff(filled: Filled) -> Client:
    """Staff of one tenant with every right that Django knows, and no more."""
    user = make_person(filled.tenant, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="workspaces"))
    return signed_in_client(user)


def _address(model: type, page: str = "changelist") -> str:
    from django.urls import reverse

    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_is_listed_searchable_and_filterable(root: Client, model: type) -> None:
    page = admin.site._registry[model]
    assert page.search_fields
    response = root.get(_address(model), {"q": "atlas"})
    assert response.status_code == 200
    assert root.get(_address(model)).status_code == 200


def test_a_search_finds_by_id_by_word_and_by_what_a_row_belongs_to(
    root: Client, filled: Filled
) -> None:
    address, leaf_id = "/admin/workspaces/sourceleaf/", str(filled.leaf_id)
    tree = filled.tree_id
    for term in (leaf_id, "listens 8443", "atlas-gateway PORT", f"{filled.workspace.slug} 8443"):
        assert leaf_id in root.get(address, {"q": term}).content.decode(), term
    for term in (str(tree), "listens nowhere", "no-such-word"):
        assert leaf_id not in root.get(address, {"q": term}).content.decode(), term
    sources = "/admin/workspaces/leafsource/"
    assert leaf_id in root.get(sources, {"q": leaf_id}).content.decode()
    assert leaf_id not in root.get(sources, {"q": str(tree)}).content.decode()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_memory_is_read_only(root: Client, model: type) -> None:
    allowed = model.__name__ in EDITABLE
    assert root.get(_address(model, "add")).status_code == (200 if allowed else 403)


def test_a_leaf_is_looked_at_but_never_changed(root: Client, filled: Filled) -> None:
    address = f"/admin/workspaces/sourceleaf/{filled.leaf_id}/change/"
    assert root.get(address).status_code == 200
    assert root.post(address, {"title": "changed"}).status_code == 403
    assert root.post(address.replace("change", "delete"), {"post": "yes"}).status_code == 403


def test_the_text_of_events_and_the_queue_are_not_shown(root: Client, filled: Filled) -> None:
    with system_scope():
        event = filled.workspace.events.first()
    assert event is not None
    page = root.get(f"/admin/workspaces/event/{event.id}/change/").content.decode()
    assert event.payload_text not in page
    assert root.get("/admin/django_q/success/").status_code == 404


def test_what_a_connector_signs_in_with_is_not_shown(root: Client, filled: Filled) -> None:
    with workspace_scope(filled.workspace, ALL_SCOPES):
        connector = filled.workspace.connectors.get()
    page = root.get(f"/admin/workspaces/connector/{connector.id}/change/").content.decode()
    assert "handbook" in page
    assert connector.settings["path"] not in page


def test_staff_see_only_their_tenant(
    staff: Client, filled: Filled, tenant: Tenant, workspace: Workspace
) -> None:
    page = staff.get("/admin/workspaces/workspace/").content.decode()
    assert str(filled.workspace.id) in page
    assert str(workspace.id) not in page
    foreign = staff.get(f"/admin/workspaces/workspace/{workspace.id}/change/")
    assert foreign.status_code == 302
    form = staff.get("/admin/workspaces/apikey/add/").content.decode()
    assert str(filled.tenant.id) in form
    assert str(tenant.id) not in form
    data = {"tenant": str(tenant.id), "name": "k", "permissions": ["memory:read"]}
    staff.post("/admin/workspaces/apikey/add/", data)
    with system_scope():
        assert not ApiKey.objects.filter(tenant=tenant).exists()


def test_staff_without_a_tenant_see_nothing(filled: Filled) -> None:
    client = signed_in_client(make_person(None, is_staff=True))
    page = client.get("/admin/workspaces/sourceleaf/").content.decode()
    assert str(filled.leaf_id) not in page


def test_people_who_are_not_staff_are_sent_to_sign_in(owner: Client) -> None:
    response = owner.get("/admin/workspaces/job/")
    assert response.status_code == 302
    assert "/admin/login/" in response["Location"]


def test_a_key_is_shown_once_and_works(root: Client, filled: Filled) -> None:
    data = {"tenant": str(filled.tenant.id), "name": "robot", "permissions": ["memory:read"]}
    response = root.post("/admin/workspaces/apikey/add/", data)
    page = response.content.decode()
    token = page.split("<p><code>")[1].split("</code>")[0]
    assert admit_key(token, workspace_slug=None).principal.label == "key:robot"
    assert "no-store" in response["Cache-Control"]
    assert token.split("_")[2] not in root.get("/admin/workspaces/apikey/").content.decode()


def test_a_key_is_revoked_by_its_action(root: Client, filled: Filled) -> None:
    key = issue_key(filled.tenant, name="old", permissions=["memory:read"]).key
    data = {"action": "revoke", "_selected_action": [str(key.id)]}
    root.post("/admin/workspaces/apikey/", data)
    with system_scope():
        assert ApiKey.objects.get(id=key.id).revoked_at is not None


def test_jobs_are_retried_and_trees_sealed_by_their_actions(root: Client, filled: Filled) -> None:
    data = {"action": "retry", "_selected_action": [str(filled.job_id)]}
    root.post("/admin/workspaces/job/", data)
    with system_scope():
        assert Job.objects.get(id=filled.job_id).state == "ready"
        Job.objects.filter(id=filled.job_id).update(state="parked")
    root.post(
        "/admin/workspaces/tree/", {"action": "seal", "_selected_action": [str(filled.tree_id)]}
    )
    with system_scope():
        assert Job.objects.filter(target_id=filled.tree_id, state="ready").exists()


def test_a_bad_setting_is_told_beside_its_field(root: Client, filled: Filled) -> None:
    address = f"/admin/workspaces/workspace/{filled.workspace.id}/change/"
    response = root.post(address, {"name": "x", "settings": '{"seal_threshold": 1}'})
    assert "seal_threshold" in response.content.decode()
    with system_scope():
        assert Workspace.objects.get(id=filled.workspace.id).name == "Team memory"

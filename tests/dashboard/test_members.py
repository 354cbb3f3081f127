"""Members and their roles, invitations by link, and the keys of a tenant, as pages."""

import re
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client

from holamem.clock import now
from holamem.database.scope import system_scope
from tests.api.client import Caller, new_side
from tests.dashboard.pages import page_of
from tests.dashboard.people import PASSWORD, make_person, signed_in_client
from workspaces.dashboard import doors
from workspaces.models.tenancy import ApiKey, Audit, Invitation, Membership, Tenant, Workspace


def base(workspace: Workspace) -> str:
    return f"/w/{workspace.tenant.slug}/{workspace.slug}/settings"


def membership(tenant: Tenant, user: User) -> Membership:
    with system_scope():
        return Membership.objects.get(tenant=tenant, user_id=user.pk)


def role_of(tenant: Tenant, user: User) -> str:
    return str(membership(tenant, user).role)


def change(client: Client, workspace: Workspace, user: User, role: str) -> int:
    member = membership(workspace.tenant, user)
    address = f"{base(workspace)}/members/{member.id}/role/"
    return int(client.post(address, {"role": role}).status_code)


def link_from(client: Client, workspace: Workspace, role: str = "member") -> str:
    page = page_of(client.post(f"{base(workspace)}/members/invite/", {"role": role}))
    found = re.search(r"http://testserver(/invitation/[^<]+)", page)
    assert found is not None, page
    return found.group(1)


def test_a_link_makes_one_person_a_member_once(tenant: Tenant, workspace: Workspace) -> None:
    owner = signed_in_client(make_person(tenant))
    link = link_from(owner, workspace, "viewer")
    token = link.split("/")[2]
    with system_scope():
        assert token not in str(list(Invitation.objects.filter(tenant=tenant).values()))
    assert "viewer" in page_of(Client().get(link))
    guest = make_person(None)
    assert signed_in_client(guest).post(link).status_code == 302
    assert role_of(tenant, guest) == "viewer"
    assert signed_in_client(make_person(None)).post(link).status_code == 404
    with system_scope():
        actions = set(Audit.objects.filter(tenant=tenant).values_list("action", flat=True))
    assert {"member.invited", "member.joined"} <= actions


def test_a_new_person_makes_an_account_with_the_link(tenant: Tenant, workspace: Workspace) -> None:
    link = link_from(signed_in_client(make_person(tenant)), workspace)
    client, name = Client(), f"新-{tenant.slug[-8:]}"
    assert client.post(link, {"name": name, "password": "short"}).status_code == 400
    assert not User.objects.filter(username=name).exists()
    assert client.post(link, {"name": name, "password": PASSWORD}).status_code == 302
    assert client.get(f"/w/{tenant.slug}/{workspace.slug}/trees/").status_code == 200
    taken = link_from(signed_in_client(make_person(tenant)), workspace)
    assert Client().post(taken, {"name": name, "password": PASSWORD}).status_code == 400
    assert Client().get(taken).status_code == 200, "the refused attempt does not use it up"


@pytest.mark.parametrize("ends", ["expired", "revoked", "suspended"])
def test_a_link_that_is_over_is_the_same_as_none(
    tenant: Tenant, workspace: Workspace, ends: str
) -> None:
    owner = signed_in_client(make_person(tenant))
    link = link_from(owner, workspace)
    with system_scope():
        invitation = Invitation.objects.get(tenant=tenant)
        if ends == "expired":
            Invitation.objects.filter(tenant=tenant).update(expires_at=now())
        elif ends == "suspended":
            Tenant.objects.filter(id=tenant.id).update(suspended_at=now())
    if ends == "revoked":
        owner.post(f"{base(workspace)}/invitations/{invitation.id}/revoke/")
    assert Client().get(link).status_code == Client().post(link).status_code == 404


def test_a_changed_role_counts_with_the_next_request(tenant: Tenant, workspace: Workspace) -> None:
    owner, other = signed_in_client(make_person(tenant)), make_person(tenant, role="admin")
    client = signed_in_client(other)
    assert client.get(f"{base(workspace)}/members/").status_code == 200
    assert change(owner, workspace, other, "viewer") == 302
    assert client.get(f"{base(workspace)}/members/").status_code == 403
    member = membership(tenant, other)
    owner.post(f"{base(workspace)}/members/{member.id}/remove/")
    assert client.get(f"/w/{tenant.slug}/{workspace.slug}/trees/").status_code == 404


def test_nobody_rises_by_oneself_and_nobody_touches_who_is_above(
    tenant: Tenant, workspace: Workspace
) -> None:
    owner, admin = make_person(tenant), make_person(tenant, role="admin")
    client = signed_in_client(admin)
    assert change(client, workspace, admin, "owner") == 403
    assert change(client, workspace, owner, "member") == 403
    assert change(client, workspace, make_person(tenant, role="viewer"), "owner") == 403
    assert client.post(f"{base(workspace)}/members/invite/", {"role": "owner"}).status_code == 403
    assert (role_of(tenant, owner), role_of(tenant, admin)) == ("owner", "admin")
    member = signed_in_client(make_person(tenant, role="member"))
    assert member.get(f"{base(workspace)}/members/").status_code == 403
    assert change(member, workspace, admin, "viewer") == 403


def test_the_last_owner_stays(tenant: Tenant, workspace: Workspace) -> None:
    first = make_person(tenant)
    client, member = signed_in_client(first), membership(tenant, first)
    change(client, workspace, first, "viewer")
    client.post(f"{base(workspace)}/members/{member.id}/remove/")
    assert role_of(tenant, first) == "owner"
    assert "The last owner stays." in page_of(client.get(f"{base(workspace)}/members/"))
    second = make_person(tenant)
    assert change(client, workspace, first, "viewer") == 302
    assert (role_of(tenant, first), role_of(tenant, second)) == ("viewer", "owner")


def test_another_tenants_member_is_the_same_as_none(tenant: Tenant, workspace: Workspace) -> None:
    other = new_side().tenant
    stranger = make_person(other)
    with system_scope():
        foreign = Membership.objects.get(user_id=stranger.pk)
    client = signed_in_client(make_person(tenant))
    for member_id in (foreign.id, UUID(int=7)):
        for act in ("role", "remove"):
            address = f"{base(workspace)}/members/{member_id}/{act}/"
            assert client.post(address, {"role": "viewer"}).status_code == 404
    assert role_of(other, stranger) == "owner"


def test_a_key_is_made_shown_once_rotated_and_revoked(tenant: Tenant, workspace: Workspace) -> None:
    client = signed_in_client(make_person(tenant, role="admin"))
    made = page_of(
        client.post(
            f"{base(workspace)}/keys/create/",
            {"name": "agent", "permissions": ["memory:read"]},
        )
    )
    [token] = re.findall(r"hm_[0-9a-f]{10}_[0-9a-f]{64}", made)
    assert Caller(token).get(f"workspaces/{workspace.slug}").status_code == 200
    listed = page_of(client.get(f"{base(workspace)}/keys/"))
    assert "agent" in listed
    assert token not in listed
    with system_scope():
        key = ApiKey.objects.get(tenant=tenant, name="agent")
    assert key.workspace_id == workspace.id
    rotated = page_of(client.post(f"{base(workspace)}/keys/{key.id}/rotate/"))
    assert len(re.findall(r"hm_[0-9a-f]{10}_[0-9a-f]{64}", rotated)) == 1
    client.post(f"{base(workspace)}/keys/{key.id}/revoke/")
    assert Caller(token).get("me").status_code == 401
    wrong = client.post(f"{base(workspace)}/keys/create/", {"name": "n"})
    assert 'role="alert"' in page_of(wrong)


def test_failures_of_one_address_or_of_one_account_wait_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doors, "MAX_FAILURES", 2)
    client = Client()
    user = make_person(None)
    for number in range(2):
        wrong = {"username": f"n{number}", "password": "x"}
        client.post("/login/", wrong, REMOTE_ADDR="192.0.2.1")
        client.post(
            "/login/",
            {"username": user.username, "password": "x"},
            REMOTE_ADDR=f"192.0.2.{number + 10}",
        )
    right = {"username": user.username, "password": PASSWORD}
    from_there = client.post("/login/", {"username": "z"}, REMOTE_ADDR="192.0.2.1")
    assert (from_there.status_code, from_there["Retry-After"]) == (429, "60")
    assert client.post("/login/", right, REMOTE_ADDR="192.0.2.99").status_code == 429
    other = make_person(None)
    ok = {"username": other.username, "password": PASSWORD}
    assert client.post("/login/", ok, REMOTE_ADDR="192.0.2.98").status_code == 302


def test_a_sign_in_is_in_the_tenants_log(tenant: Tenant, workspace: Workspace) -> None:
    person = make_person(tenant)
    form = {"username": person.username, "password": "wrong"}
    assert Client().post("/login/", form).status_code == 200
    assert Client().post("/login/", {**form, "password": PASSWORD}).status_code == 302
    with system_scope():
        [entry] = Audit.objects.filter(tenant=tenant)
    assert (entry.action, entry.actor) == ("member.signed_in", f"user:{person.username}")

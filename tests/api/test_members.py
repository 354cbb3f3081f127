"""Members and invitations through the API: a key acts as an admin does, and never on owners."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from holamem.database.scope import system_scope
from tests.api.client import Side, caller_for, codes
from tests.dashboard.people import PASSWORD, make_person, signed_in_client
from workspaces.models.log import IdempotencyRecord
from workspaces.models.tenancy import Audit, Invitation, Membership


def member_of(side: Side, role: str) -> tuple[User, str]:
    user = make_person(side.tenant, role=role)
    with system_scope():
        return user, str(Membership.objects.get(tenant=side.tenant, user_id=user.pk).id)


def actions(side: Side) -> list[str]:
    with system_scope():
        rows = Audit.objects.filter(tenant=side.tenant).order_by("id")
        return list(rows.values_list("action", flat=True))


def test_members_are_listed_with_what_the_key_may_do_about_them(side: Side) -> None:
    people = {role: member_of(side, role)[0] for role in ("viewer", "owner", "admin")}
    listed = side.caller.get("members").json()["results"]
    assert [(row["name"], row["role"]) for row in listed] == [
        (people[role].username, role) for role in ("owner", "admin", "viewer")
    ]
    assert [row["may_be_removed"] for row in listed] == [False, True, True]
    assert [row["may_become"] for row in listed] == [
        [], ["viewer", "member"], ["member", "admin"],
    ]  # fmt: skip
    first = side.caller.get("members?limit=1").json()
    following = side.caller.get(first["next"].partition("/api/v1/")[2]).json()["results"]
    assert following[0]["name"] == people["admin"].username


def test_a_changed_role_counts_with_the_persons_next_request(side: Side) -> None:
    user, member_id = member_of(side, "admin")
    client, page = signed_in_client(user), f"/w/{side.tenant.slug}/notes/settings/members/"
    assert client.get(page).status_code == 200
    changed = side.caller.send("PATCH", f"members/{member_id}", {"role": "viewer"})
    assert (changed.status_code, changed.json()["role"]) == (200, "viewer")
    assert client.get(page).status_code == 403
    assert side.caller.send("DELETE", f"members/{member_id}").status_code == 204
    assert client.get(f"/w/{side.tenant.slug}/notes/trees/").status_code == 404
    assert side.caller.get(f"members/{member_id}").status_code == 404
    assert actions(side) == ["member.role_changed", "member.removed"]


def test_a_key_neither_makes_nor_touches_an_owner(side: Side) -> None:
    owner, viewer = member_of(side, "owner")[1], member_of(side, "viewer")[1]
    refused = [
        side.caller.send("PATCH", f"members/{viewer}", {"role": "owner"}),
        side.caller.send("PATCH", f"members/{owner}", {"role": "viewer"}),
        side.caller.send("DELETE", f"members/{owner}"),
        side.caller.post("invitations", {"role": "owner"}),
    ]
    assert [answer.status_code for answer in refused] == [403] * 4
    assert actions(side) == []


def test_an_invitation_makes_one_member_and_its_link_is_shown_once(side: Side) -> None:
    sent = {"role": "member"}
    made, again = (side.caller.post("invitations", sent, Idempotency_Key="k") for _ in range(2))
    link = made.json()["link"]
    assert again.json() == {**made.json(), "link": None}
    invitation_id, token = made.json()["invitation_id"], link.split("/")[-2]
    with system_scope():
        kept = [*Invitation.objects.values(), *Audit.objects.values("detail")]
        answers = list(IdempotencyRecord.objects.values_list("answer_body", flat=True))
    assert token not in str(kept) + "".join(answers)
    [line] = side.caller.get("invitations").json()["results"]
    assert (line["invitation_id"], line["invited_by"]) == (invitation_id, "key:test key")
    account = {"name": f"p-{uuid4().hex}", "password": PASSWORD}
    assert Client().post(link.partition("testserver")[2], account).status_code == 302
    assert side.caller.get("members").json()["results"][0]["role"] == "member"
    assert side.caller.get(f"invitations/{invitation_id}").status_code == 404
    assert actions(side) == ["member.invited", "member.joined"]


def test_a_revoked_invitation_is_worth_nothing(side: Side) -> None:
    made = side.caller.post("invitations", {"role": "viewer"}).json()
    address = f"invitations/{made['invitation_id']}"
    assert side.caller.get(address).json()["role"] == "viewer"
    assert side.caller.send("DELETE", address).status_code == 204
    assert Client().get(made["link"].partition("testserver")[2]).status_code == 404
    assert side.caller.send("DELETE", address).status_code == 404
    assert actions(side) == ["member.invited", "invitation.revoked"]


@pytest.mark.parametrize("path", ["members", "invitations"])
def test_a_key_of_one_workspace_manages_nobody(side: Side, path: str) -> None:
    bound = caller_for(side.tenant, permissions=["admin"], workspace=side.workspace)
    answers: list[Any] = [bound.get(path), bound.post("invitations", {"role": "viewer"})]
    assert [answer.status_code for answer in answers] == [403, 403]


def test_a_role_that_there_is_not_is_named(side: Side) -> None:
    answer = side.caller.post("invitations", {"role": "god"})
    assert (answer.status_code, codes(answer)) == (400, {"role": "invalid_choice"})

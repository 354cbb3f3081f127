"""Keys through the API: shown once, bound, rotated with an overlap, revoked at once, capped."""

from datetime import timedelta
from typing import Any

import pytest

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.api.client import Caller, Side, caller_for, codes, new_side
from tests.verification import assert_clean
from workspaces.models.log import IdempotencyRecord
from workspaces.models.tenancy import ApiKey, Audit
from workspaces.services import keys
from workspaces.services.api_keys import issue_key
from workspaces.services.end_users import ensure_end_user
from workspaces.services.principals import LAST_USED_RESOLUTION


def made(side: Side, **values: Any) -> dict[str, Any]:
    body = {"name": "agent", "permissions": ["memory:read"], **values}
    answer = side.caller.post("keys", body)
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def status_with(token: str, side: Side) -> int:
    return int(Caller(token).get(side.base).status_code)


def test_a_key_is_shown_once_and_works(side: Side) -> None:
    key = made(side)
    assert status_with(key["token"], side) == 200
    shown = side.caller.get(f"keys/{key['key_id']}").json()
    assert {**shown, "last_used_at": None, "token": key["token"]} == key
    listed = side.caller.get("keys").json()["results"]
    assert [row["name"] for row in listed] == ["agent", "test key"]
    assert key["token"] not in str(listed)


def test_a_replayed_answer_has_no_token_and_no_row_has_it(side: Side) -> None:
    body = {"name": "agent", "permissions": ["memory:read"]}
    first, again = (side.caller.post("keys", body, Idempotency_Key="k") for _ in range(2))
    token = first.json()["token"]
    assert again.json() == {**first.json(), "token": None}
    secret = token.rsplit("_", 1)[1]
    with system_scope():
        kept = [row.answer_body for row in IdempotencyRecord.objects.filter(workspace=None)]
        noted = str(list(Audit.objects.values_list("detail", flat=True)))
    assert secret not in "".join(kept) + noted
    assert_clean(side.workspace)


def test_the_old_key_is_good_until_the_overlap_ends(side: Side) -> None:
    old = made(side, expires_at=(now() + timedelta(days=9)).isoformat())
    new = side.caller.post(f"keys/{old['key_id']}:rotate", {"overlap_hours": 1}).json()
    assert [status_with(key["token"], side) for key in (old, new)] == [200, 200]
    shown = side.caller.get(f"keys/{old['key_id']}").json()
    assert shown["expires_at"] < (now() + timedelta(hours=1)).isoformat()
    assert new["expires_at"] > (now() + timedelta(days=8)).isoformat()
    with system_scope():
        ApiKey.objects.filter(id=old["key_id"]).update(expires_at=now())
    late = Caller(old["token"]).get(side.base)
    assert (late.status_code, codes(late)) == (401, {"": "key_expired"})
    assert status_with(new["token"], side) == 200
    again = side.caller.post(f"keys/{old['key_id']}:rotate")
    assert (again.status_code, codes(again)) == (409, {"": "key_not_active"})


def test_what_is_done_to_the_tenant_is_in_its_own_log(side: Side) -> None:
    made(side)
    made(side, workspace=side.workspace.slug)
    made(new_side())
    [entry] = side.caller.get("audit").json()["results"]
    assert (entry["action"], entry["detail"]["name"]) == ("key.created", "agent")
    local = side.caller.get(f"{side.base}/audit?action=key.created").json()["results"]
    assert len(local) == 1
    bound = caller_for(side.tenant, permissions=["admin"], workspace=side.workspace)
    assert bound.get("audit").status_code == 403


def test_without_an_overlap_the_old_key_ends_at_once(side: Side) -> None:
    old = made(side)
    assert side.caller.post(f"keys/{old['key_id']}:rotate", {"overlap_hours": 0}).status_code == 201
    assert status_with(old["token"], side) == 401


def test_a_revoked_key_is_refused_with_the_next_request(side: Side) -> None:
    key = made(side)
    assert status_with(key["token"], side) == 200
    gone = [side.caller.send("DELETE", f"keys/{key['key_id']}").json() for _ in range(2)]
    assert gone[0]["status"] == "revoked"
    assert gone[0] == gone[1]
    assert codes(Caller(key["token"]).get(side.base)) == {"": "key_revoked"}
    with system_scope():
        actions = Audit.objects.filter(target=key["key_id"]).order_by("id")
        assert [row.action for row in actions] == ["key.created", "key.revoked"]


def test_a_key_of_one_end_user_is_bound_to_that_memory(side: Side) -> None:
    with workspace_scope(side.workspace, ALL_SCOPES):
        ensure_end_user(side.workspace, ref="ana")
    bound = made(side, workspace=side.workspace.slug, user_id="ana", permissions=["memory:read"])
    me = Caller(bound["token"]).get("me").json()
    assert (me["end_user"], me["workspace"]["slug"]) == ("ana", side.workspace.slug)
    assert Caller(bound["token"]).get(f"{side.base}/trees?user_id=ben").status_code == 404
    assert Caller(bound["token"]).get("keys").status_code == 403


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"permissions": []}, "permissions", "min_length"),
        ({"permissions": ["root"]}, "permissions", "invalid_choice"),
        ({"workspace": "nowhere"}, "workspace", "invalid"),
        ({"user_id": "ana"}, "workspace", "invalid"),
        ({"workspace": "notes", "user_id": "nobody"}, "user_id", "invalid"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at", "invalid"),
        ({"expires_at": "2090-01-01T00:00:00Z"}, "expires_at", "invalid"),
    ],
)
def test_what_no_key_can_be_is_refused(
    side: Side, body: dict[str, Any], field: str, code: str
) -> None:
    answer = side.caller.post("keys", {"name": "n", "permissions": ["memory:read"], **body})
    assert answer.status_code == 400
    assert {path.partition("[")[0]: code for path, code in codes(answer).items()} == {field: code}


def test_an_admin_key_of_one_workspace_manages_that_ones_keys_only(side: Side) -> None:
    side.caller.post("workspaces", {"slug": "other", "name": "Other"})
    local = caller_for(side.tenant, permissions=["admin"], workspace=side.workspace)
    wide = made(side)
    assert local.get(f"keys/{wide['key_id']}").status_code == 404
    assert local.send("DELETE", f"keys/{wide['key_id']}").status_code == 404
    elsewhere = {"name": "n", "permissions": ["admin"], "workspace": "other"}
    assert codes(local.post("keys", elsewhere)) == {"workspace": "invalid"}
    own = local.post("keys", {"name": "n", "permissions": ["admin"]}).json()
    assert own["workspace"] == side.workspace.slug


def test_a_tenant_has_so_many_active_keys(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEYS_PER_TENANT", 3)
    first, _ = made(side), made(side)
    full = side.caller.post("keys", {"name": "n", "permissions": ["memory:read"]})
    assert (full.status_code, codes(full)) == (409, {"": "too_many_keys"})
    assert made(new_side())["name"] == "agent"
    side.caller.send("DELETE", f"keys/{first['key_id']}")
    assert made(side)["status"] == "active"


def test_the_use_of_a_key_is_noted_once_a_minute(side: Side) -> None:
    issued = issue_key(side.tenant, name="n", permissions=["memory:read"])

    def noted_use() -> Any:
        Caller(issued.token).get("me")
        with system_scope():
            return ApiKey.objects.get(id=issued.key.id).last_used_at

    first = noted_use()
    assert noted_use() == first
    with system_scope():
        past = first - LAST_USED_RESOLUTION - timedelta(seconds=1)
        ApiKey.objects.filter(id=issued.key.id).update(last_used_at=past)
    assert noted_use() >= first

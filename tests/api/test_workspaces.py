"""Workspaces, and the key's own view of itself."""

from datetime import timedelta

import pytest
from django.db import OperationalError

from holamem.clock import now
from holamem.database.scope import system_scope
from holamem.http import rate_limit
from tests.api.client import ALL, Caller, Side, caller_for, codes, new_side
from workspaces.api import authentication
from workspaces.models.tenancy import ApiKey, Tenant


def test_a_key_tells_what_it_is(side: Side) -> None:
    body = side.caller.get("me").json()
    assert body["tenant"]["slug"] == side.tenant.slug
    assert (body["workspace"], body["end_user"]) == (None, None)
    assert body["permissions"] == sorted(ALL)


def test_a_bound_key_tells_what_it_is_bound_to(side: Side) -> None:
    caller = caller_for(side.tenant, workspace=side.workspace, permissions=[])
    body = caller.get("me").json()
    assert (body["workspace"]["slug"], body["permissions"]) == (side.workspace.slug, [])


def test_a_workspace_is_made_read_changed_and_archived(side: Side) -> None:
    settings = {"seal_threshold": 4}
    made = side.caller.post("workspaces", {"slug": "lab", "name": "Lab", "settings": settings})
    assert made.status_code == 201
    assert made.json()["slug"] == "lab"
    changed = side.caller.send(
        "PATCH", "workspaces/lab", {"name": "研究室", "settings": {"match_threshold": 0.7}}
    )
    assert changed.status_code == 200
    body = side.caller.get("workspaces/lab").json()
    assert body == changed.json()
    assert (body["name"], body["settings"]["seal_threshold"]) == ("研究室", 4)
    assert body["settings"]["match_threshold"] == 0.7
    assert side.caller.send("DELETE", "workspaces/lab").status_code == 204
    assert side.caller.get("workspaces/lab").status_code == 404


def test_a_slug_is_taken_once(side: Side) -> None:
    refused = side.caller.post("workspaces", {"slug": side.workspace.slug, "name": "Again"})
    assert refused.status_code == 409
    assert codes(refused) == {"slug": "conflict"}


def test_only_an_administrators_key_makes_workspaces(side: Side) -> None:
    writer = caller_for(side.tenant, permissions=["memory:read", "memory:write"])
    assert writer.post("workspaces", {"slug": "lab", "name": "Lab"}).status_code == 403
    bound = caller_for(side.tenant, workspace=side.workspace)
    assert bound.post("workspaces", {"slug": "lab", "name": "Lab"}).status_code == 403
    assert writer.send("PATCH", side.base, {"name": "x"}).status_code == 403
    assert writer.send("DELETE", side.base).status_code == 403


def test_a_key_of_one_workspace_sees_no_other(side: Side) -> None:
    side.caller.post("workspaces", {"slug": "lab", "name": "Lab"})
    bound = caller_for(side.tenant, workspace=side.workspace)
    listed = bound.get("workspaces").json()["results"]
    assert [row["slug"] for row in listed] == [side.workspace.slug]
    assert bound.get("workspaces/lab").status_code == 404


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic dXNlcjpwYXNz",
        "Bearer hm_x",
        "Bearer hm_0123456789_" + "0" * 64,
        "Bearer hm_0123456789_" + "é" * 8,
        "Bearer " + "a" * 5000,
        "hm_0123456789_0",
        "Bearer a, Bearer b",
    ],
)
def test_no_valid_key_is_a_401_that_says_how(header: str) -> None:
    response = Caller(None).get("me", Authorization=header.encode().decode("latin-1"))
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert set(codes(response).values()) <= {"key_invalid", "not_authenticated"}


def changed_key(side: Side, **values: object) -> Caller:
    caller = caller_for(side.tenant)
    prefix = str(caller.token).split("_")[1]
    with system_scope():
        ApiKey.objects.filter(prefix=prefix).update(**values)
    return caller


def test_an_expired_or_revoked_key_says_so(side: Side) -> None:
    past = now() - timedelta(seconds=1)
    expired, revoked = changed_key(side, expires_at=past), changed_key(side, revoked_at=past)
    assert codes(expired.get("me")) == {"": "key_expired"}
    assert codes(revoked.get("me")) == {"": "key_revoked"}
    assert expired.get("me").status_code == revoked.get("me").status_code == 401


def test_a_suspended_tenant_may_do_nothing(side: Side) -> None:
    with system_scope():
        Tenant.objects.filter(id=side.tenant.id).update(suspended_at=now())
    response = side.caller.get("me")
    assert response.status_code == 403
    assert codes(response) == {"": "tenant_suspended"}


def test_a_key_in_the_address_is_no_key(side: Side) -> None:
    assert Caller(None).get(f"me?api_key={side.caller.token}").status_code == 401


def test_answers_are_not_cached_and_carry_their_request(side: Side) -> None:
    response = side.caller.get("me", X_Request_ID="trace-1")
    assert response["Cache-Control"] == "no-store"
    assert response["X-Request-ID"] == "trace-1"


def test_messages_are_english_whatever_the_browser_speaks(side: Side) -> None:
    plain, chinese = (
        side.caller.post("workspaces", {"slug": "x"}, Accept_Language=language)
        for language in ("en", "zh-hans")
    )
    assert plain.content == chinese.content


def test_a_key_beyond_its_rate_waits_while_others_do_not(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit, "_buckets", rate_limit.TokenBuckets(per_second=0.5, burst=1))
    other = caller_for(side.tenant)
    assert side.caller.get("me").status_code == 200
    refused = side.caller.get("me")
    assert (refused.status_code, refused["Retry-After"]) == (429, "2")
    assert codes(refused) == {"": "throttled"}
    assert other.get("me").status_code == 200


def test_a_tenant_with_many_keys_waits_while_another_does_not(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit, "_tenants", rate_limit.TokenBuckets(per_second=0.5, burst=2))
    first, second, third = (caller_for(side.tenant).get("me") for _ in range(3))
    assert [first["RateLimit-Remaining"], second["RateLimit-Remaining"]] == ["1", "0"]
    assert (third.status_code, third["RateLimit-Remaining"]) == (429, "0")
    assert new_side().caller.get("me").status_code == 200


def test_a_database_that_is_down_is_a_503(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(token: str, *, workspace_slug: str | None) -> None:
        raise OperationalError("could not connect to 10.0.0.5")

    monkeypatch.setattr(authentication, "admit_key", down)
    response = side.caller.get("me")
    assert (response.status_code, response["Retry-After"]) == (503, "1")
    assert b"10.0.0.5" not in response.content


def test_what_is_done_to_a_workspace_is_in_its_log_without_values(side: Side) -> None:
    made = side.caller.post("workspaces", {"slug": "logged", "name": "Secret plans"})
    assert made.status_code == 201
    changed = {"name": "Other plans", "settings": {"user_id": "required"}}
    assert side.caller.send("PATCH", "workspaces/logged", changed).status_code == 200
    agent = {"slug": "adviser", "system_prompt": "Say nothing of the plans."}
    assert side.caller.post("workspaces/logged/agents", agent).status_code == 201
    entries = side.caller.get("workspaces/logged/audit").json()["results"]
    assert [(entry["action"], entry["actor"]) for entry in entries] == [
        ("agent.created", "key:test key"),
        ("workspace.changed", "key:test key"),
        ("workspace.created", "key:test key"),
    ]
    assert entries[1]["detail"]["changed"] == ["name", "user_id"]
    assert "plans" not in str(entries)

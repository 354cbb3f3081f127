"""End users: listed, looked at, exported, and erased as a whole with a receipt."""

from typing import Any
from urllib.parse import quote

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.api.client import Caller, Side, caller_for, codes, event_body
from tests.verification import assert_clean
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from tests.workspaces.traces import assert_no_trace, chinese_canary, english_canary
from workspaces.models.tenancy import EndUser
from workspaces.services.erasure.journal import replay_erasures


def end_user(side: Side, ref: str) -> EndUser:
    with workspace_scope(side.workspace, ALL_SCOPES):
        return side.workspace.end_users.get(ref=ref)


def fill(side: Side, ref: str, *texts: str) -> None:
    """A private memory with a summary, and the same facts in the shared one."""
    facts = [draft(fact, minutes=n) for n, fact in enumerate(ATLAS_FACTS[:8])]
    own = [draft(fact.text, minutes=n, user_id=ref) for n, fact in enumerate(facts)]
    said = [draft(text, minutes=50 + n, user_id=ref) for n, text in enumerate(texts)]
    remember(side.workspace, *facts, *own, *said)


def users(side: Side, ref: str = "", rest: str = "") -> str:
    return f"{side.base}/users/{quote(ref, safe='')}{rest}" if ref else f"{side.base}/users"


def test_end_users_are_listed_and_counted(side: Side, api: Caller) -> None:
    remember(
        side.workspace,
        draft(ATLAS_FACTS[0], user_id="ana@example.org"),
        draft(ATLAS_FACTS[1], user_id="李雷"),
    )
    listed = api.get(users(side)).json()["results"]
    assert [row["user_id"] for row in listed] == ["ana@example.org", "李雷"]
    shown = api.get(users(side, "李雷")).json()
    assert (shown["user_id"], shown["leaves"], shown["events"]) == ("李雷", 1, 1)
    exported = api.get(users(side, "李雷", "/export")).json()
    assert exported["user"]["user_id"] == "李雷"
    assert [leaf["text"].strip() for leaf in exported["leaves"]] == [ATLAS_FACTS[1]]
    assert [event["text"] for event in exported["events"]] == [ATLAS_FACTS[1]]
    assert ATLAS_FACTS[0] not in str(exported)
    few = caller_for(side.tenant, permissions=["memory:read"])
    assert few.get(users(side)).status_code == 403
    assert codes(api.get(users(side, "nobody"))) == {"": "not_found"}


def test_a_key_of_one_end_user_sees_and_erases_that_one_only(side: Side, api: Caller) -> None:
    remember(
        side.workspace,
        draft(ATLAS_FACTS[0], user_id="ana"),
        draft(ATLAS_FACTS[1], user_id="ben"),
    )
    bound = caller_for(side.tenant, workspace=side.workspace, end_user=end_user(side, "ana"))
    assert [row["user_id"] for row in bound.get(users(side)).json()["results"]] == ["ana"]
    for rest in ("", "/export"):
        assert bound.get(users(side, "ben", rest)).status_code == 404
    assert bound.send("DELETE", users(side, "ben")).status_code == 404
    assert bound.send("DELETE", users(side, "ana")).status_code == 202
    assert codes(bound.get("me")) == {"": "key_revoked"}
    drain(side.workspace)
    assert api.get(users(side, "ben")).json()["leaves"] == 1
    assert_clean(side.workspace)


@pytest.mark.parametrize("ref", ["team/ana", "/a//b/", "https://id.example/ana"])
def test_a_person_whose_ref_has_slashes_is_looked_at_exported_and_erased(
    side: Side, api: Caller, ref: str
) -> None:
    assert api.post(f"{side.base}/events", event_body(user_id=ref)).status_code == 202
    assert api.get(users(side, ref)).json()["user_id"] == ref
    assert api.get(users(side, ref, "/export")).json()["user"]["user_id"] == ref
    assert api.send("DELETE", users(side, ref)).status_code == 202
    assert api.get(users(side, ref)).status_code == 404


@pytest.mark.parametrize("ref", ["ana/export", "..", "team/../ana", "./ana"])
@pytest.mark.parametrize("path", ["events", "sessions"])
def test_a_ref_that_would_lead_to_somebody_elses_address_is_refused(
    side: Side, api: Caller, ref: str, path: str
) -> None:
    body = event_body(user_id=ref) if path == "events" else {"user_id": ref}
    assert codes(api.post(f"{side.base}/{path}", body)) == {"user_id": "invalid"}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_of_an_erased_end_user_is_left_anywhere(
    side: Side, api: Caller, language: str
) -> None:
    canary = english_canary() if language == "en" else chinese_canary()
    ref, word = f"{canary}.ref", english_canary()
    fill(side, ref, f"{canary} owns the Atlas gateway with {word}.", "maybe ok lol")
    api.post(f"{side.base}/memory/retrieve", {"query": f"Who is {canary}?", "user_id": ref})
    api.post(
        "keys",
        {"name": "n", "permissions": ["memory:read"], "workspace": "notes", "user_id": ref},
        Idempotency_Key="k",
    )
    waiting = event_body(f"{canary} waits.", user_id=ref, session=f"s-{canary}", source="chat")
    assert api.post(f"{side.base}/events", {**waiting, "external_id": canary}).status_code == 202
    answer = api.send("DELETE", users(side, ref), {"reason": "asked for"})
    assert answer.status_code == 202, answer.content
    asked = answer.json()
    assert (asked["kind"], asked["leaf_id"], asked["status"]) == ("user", None, "requested")
    assert asked["counts"]["leaves"] >= 9
    _nothing_is_read(side, ref, canary)
    drain(side.workspace)
    done = api.get(f"{side.base}/erasures/{asked['erasure_id']}").json()
    assert done["status"] == "complete"
    assert_no_trace(canary, word)
    assert_clean(side.workspace)
    assert api.send("DELETE", users(side, ref)).status_code == 404
    _a_namesake_begins_anew(side, ref)


def _nothing_is_read(side: Side, ref: str, canary: str) -> None:
    for path in ("trees", "entities", "events", "memory/browse", "gaps", "users", "audit"):
        for query in ("", "?user_id=*") if path not in ("users", "audit") else ("",):
            assert canary not in side.caller.get(f"{side.base}/{path}{query}").content.decode()
    assert side.caller.get(users(side, ref)).status_code == 404
    asked = side.caller.post(f"{side.base}/memory/retrieve", {"query": "Who?", "user_id": "*"})
    assert canary not in asked.content.decode()


def _a_namesake_begins_anew(side: Side, ref: str) -> None:
    remember(side.workspace, draft(ATLAS_FACTS[2], user_id=ref, minutes=90))
    assert side.caller.get(users(side, ref)).json()["leaves"] == 1
    assert len(side.caller.get(users(side)).json()["results"]) == 1
    assert_clean(side.workspace)


def test_the_same_facts_of_others_stay(side: Side, api: Caller) -> None:
    remember(
        side.workspace,
        draft(ATLAS_FACTS[0]),
        draft(ATLAS_FACTS[0], user_id="ana"),
        draft(ATLAS_FACTS[0], user_id="ben"),
    )
    api.send("DELETE", users(side, "ana"))
    drain(side.workspace)
    assert api.get(users(side, "ben")).json()["leaves"] == 1
    shared: Any = api.get(f"{side.base}/status").json()
    assert shared["leaves"] == 2
    assert_clean(side.workspace)


def test_a_restored_database_forgets_the_person_again(side: Side, api: Caller) -> None:
    canary = english_canary()
    remember(side.workspace, draft(f"The gateway is run by {canary}.", user_id=canary))
    api.send("DELETE", users(side, canary))
    drain(side.workspace)
    with workspace_scope(side.workspace, ALL_SCOPES):
        row = side.workspace.end_users.get()
        side.workspace.end_users.update(ref=canary, name=canary, erased_at=None)
        side.workspace.events.update(payload_text=f"The gateway is run by {canary}.")
    assert replay_erasures(side.workspace) == 1
    drain(side.workspace)
    assert_no_trace(canary)
    with workspace_scope(side.workspace, ALL_SCOPES):
        assert side.workspace.end_users.get(id=row.id).erased_at is not None
    assert_clean(side.workspace)

"""Every route of the API against every kind of key."""

from typing import Any

import pytest

from holamem.clock import now
from holamem.database.scope import system_scope
from tests.api.client import Caller
from tests.authz.asking import ask, holds, reading, rows, told
from tests.authz.routes import Case, cases
from tests.authz.world import Side, nobody
from workspaces.models.tenancy import Tenant

KEYED = cases("any-key", "key-")
IN_WORKSPACE = [case for case in KEYED if "ws" in case.parts]
WITH_ID = [case for case in IN_WORKSPACE if len(case.parts) > 1]
# Parts of addresses that are names: both sides have what is so called.
NAMES = {"ws", "ref", "key", "slug", "provider", "account", "scope", "name", "agent"}
CONVERSATION = ("session_id", "message_id", "run_id", "approval_id")
BY_ID = [case for case in KEYED if set(case.parts) - NAMES]


def not_refused(
    caller: Caller, *, side: Side, status: int, code: str, among: list[Case] | None = None
) -> list[tuple[str, int]]:
    """Cases that do not end in this status and code, or that tell something of the side."""
    wrong = []
    for case in among if among is not None else KEYED:
        answer = ask(caller, case, side.ids)
        found = answer.json()["errors"] if answer.status_code >= 400 else []
        is_told = holds(answer, side.canary, side.private_canary)
        if is_told or (answer.status_code, [e["code"] for e in found]) != (status, [code]):
            wrong.append((str(case), answer.status_code))
    return wrong


TOKENS = {
    None: "not_authenticated",
    "": "key_invalid",
    "hm_0123456789": "key_invalid",
    "hm_0123456789_" + "0" * 64: "key_invalid",
    "sk-something-else": "key_invalid",
}


@pytest.mark.parametrize("token", list(TOKENS), ids=repr)
def test_without_a_valid_key_nothing_is_told(token: str | None, mine: Side) -> None:
    assert not_refused(Caller(token), side=mine, status=401, code=TOKENS[token]) == []


def test_tools_need_a_valid_key_too(mine: Side) -> None:
    for case in cases("tool-key"):
        for caller in (Caller(None), mine.callers["revoked"], mine.callers["expired"]):
            answer = caller.post(case.address({}), {"jsonrpc": "2.0", "method": "ping", "id": 1})
            assert answer.status_code == 401, case


def test_a_revoked_key_is_401(mine: Side) -> None:
    caller = mine.callers["revoked"]
    assert not_refused(caller, side=mine, status=401, code="key_revoked") == []


def test_an_expired_key_is_401(mine: Side) -> None:
    caller = mine.callers["expired"]
    assert not_refused(caller, side=mine, status=401, code="key_expired") == []


def test_a_key_in_the_address_or_twice_in_the_header_is_none(mine: Side) -> None:
    token = mine.callers["owner"].token
    answer = Caller(None).get(f"me?key={token}&access_token={token}")
    assert answer.status_code == 401
    twice = Caller(None).get("me", Authorization=f"Bearer {token}, Bearer {token}")
    assert twice.status_code == 401


def test_a_suspended_tenant_is_403_at_once(mine: Side) -> None:
    tenants = Tenant.objects.filter(id=mine.tenant.id)
    with system_scope():
        tenants.update(suspended_at=now())
    try:
        caller = mine.callers["owner"]
        assert not_refused(caller, side=mine, status=403, code="tenant_suspended") == []
    finally:
        with system_scope():
            tenants.update(suspended_at=None)


def test_a_key_reads_and_writes_only_what_it_is_for(mine: Side) -> None:
    for name, may in {
        "run": ("any-key", "key-run"),
        "read": ("any-key", "key-read"),
        "write": ("any-key", "key-write"),
    }.items():
        others = [case for case in KEYED if case.kind not in may]
        wrong = not_refused(
            mine.callers[name], side=mine, status=403, code="permission_denied", among=others
        )
        assert wrong == [], name


def test_a_foreign_workspace_is_the_same_as_none(mine: Side, theirs: Side) -> None:
    """Right ids under a slug that only the other tenant has, and under one that nobody has."""
    slug = f"only-{mine.canary}"
    made = mine.callers["owner"].post("workspaces", {"slug": slug, "name": "Only here"})
    assert made.status_code == 201
    before = rows(mine)
    caller, wrong = theirs.callers["owner"], []
    for case in IN_WORKSPACE:
        foreign = ask(caller, case, {**mine.ids, "ws": slug})
        absent = ask(caller, case, {**mine.ids, "ws": f"none-{mine.canary}"})
        if foreign.status_code != 404 or told(foreign) != told(absent):
            wrong.append((str(case), foreign.status_code))
    assert wrong == []
    assert rows(mine) == before


def test_a_foreign_id_is_the_same_as_none(mine: Side, theirs: Side) -> None:
    before, caller, wrong = rows(mine), theirs.callers["owner"], []
    for case in BY_ID:
        foreign = ask(caller, case, mine.ids)
        absent = ask(caller, case, nobody(mine.ids))
        if foreign.status_code != 404 or told(foreign) != told(absent):
            wrong.append((str(case), foreign.status_code))
        assert not holds(foreign, mine.canary, mine.private_canary), case
    assert wrong == []
    assert rows(mine) == before


def test_a_name_that_both_have_leads_to_ones_own(mine: Side, theirs: Side) -> None:
    before = rows(mine)
    foreign = {mine.canary, mine.private_canary, *map(str, _ids_only(mine))}
    for case in reading(IN_WORKSPACE):
        answer = ask(theirs.callers["owner"], case, theirs.ids)
        assert answer.status_code == 200, case
        assert not holds(answer, *foreign), case
    asked = theirs.callers["owner"].post(
        "workspaces/notes/memory/retrieve", {"query": "What is the phrase?", "user_id": "*"}
    )
    assert theirs.canary in asked.content.decode()
    assert not holds(asked, *foreign)
    assert rows(mine) == before


def _ids_only(side: Side) -> list[str]:
    named = NAMES | {"tenant", "workspace"}
    return [value for name, value in side.ids.items() if name not in named]


def in_query_and_body(ids: dict[str, str]) -> list[tuple[str, str, Any]]:
    """Method, address and body with another row's id where the address has none."""
    base = "workspaces/notes"
    return [
        ("GET", f"{base}/memory/browse?node_id={ids['leaf_id']}", None),
        ("GET", f"{base}/memory/browse?tree_id={ids['tree_id']}", None),
        ("GET", f"{base}/memory/browse?tree_key={ids['tree_id']}", None),
        ("GET", f"{base}/trees?user_id={ids['tenant']}", None),
        ("GET", f"{base}/jobs?target_id={ids['leaf_id']}", None),
        ("POST", f"{base}/memory/retrieve", {"query": "Who?", "tree_ids": [ids["tree_id"]]}),
        ("POST", f"{base}/memory/retrieve", {"query": "Who?", "entities": [ids["entity_id"]]}),
    ]


def test_a_foreign_id_in_query_or_body_is_the_same_as_none(mine: Side, theirs: Side) -> None:
    before, caller = rows(mine), theirs.callers["owner"]
    strange = nobody(mine.ids)
    pairs = zip(in_query_and_body(mine.ids), in_query_and_body(strange), strict=True)
    for foreign, absent in pairs:
        answers = [caller.send(method, path, body) for method, path, body in (foreign, absent)]
        assert answers[0].status_code == answers[1].status_code, foreign
        assert not holds(answers[0], mine.canary, mine.private_canary), foreign
    assert rows(mine) == before


def test_a_foreign_id_in_the_body_of_a_write_reaches_nothing(mine: Side, theirs: Side) -> None:
    before, caller = rows(mine), theirs.callers["owner"]
    event = caller.post(
        "workspaces/notes/events?wait=true&timeout_s=0",
        {
            "kind": "tool_result",
            "text": "Canary releases are paused.",
            "evidence_event_ids": [mine.ids["event_id"]],
        },
    )
    feedback = caller.post(
        f"workspaces/notes/retrievals/{theirs.ids['retrieval_id']}/feedback",
        {"verdict": "helpful", "evidence_ids": [mine.ids["leaf_id"]]},
    )
    assert not holds(event, mine.canary)
    assert not holds(feedback, mine.canary)
    assert rows(mine) == before


def test_a_cursor_and_an_idempotency_key_are_worth_nothing_elsewhere(
    mine: Side, theirs: Side
) -> None:
    first = mine.callers["owner"].get("workspaces/notes/events?limit=1").json()
    cursor = first["next"].partition("cursor=")[2]
    stolen = theirs.callers["owner"].get(f"workspaces/notes/events?limit=1&cursor={cursor}")
    assert (stolen.status_code, stolen.json()["errors"][0]["code"]) == (400, "invalid_cursor")
    body, key = {"slug": f"k-{mine.canary}", "name": mine.canary}, {"Idempotency_Key": "same"}
    assert mine.callers["owner"].post("workspaces", body, **key).status_code == 201
    own = theirs.callers["owner"].post("workspaces", {"slug": "mine", "name": "n"}, **key)
    assert own.status_code == 201
    assert not holds(own, mine.canary)


def test_a_key_of_another_workspace_of_the_tenant_finds_none(mine: Side) -> None:
    caller, before = mine.callers["other workspace"], rows(mine)
    for case in IN_WORKSPACE:
        answer = ask(caller, case, mine.ids)
        assert answer.status_code == 404, case
        assert not holds(answer, mine.canary), case
        below = ask(caller, case, {**mine.ids, "ws": "other"}) if case in WITH_ID else answer
        assert below.status_code == 404, case
    listed = [item["slug"] for item in caller.get("workspaces").json()["results"]]
    assert listed == ["other"]
    assert rows(mine) == before


def test_one_end_users_key_never_sees_anothers_memory(mine: Side) -> None:
    caller, before = mine.callers["ben"], rows(mine)
    private = {"event_id", "leaf_id", "tree_id", "summary_id", *CONVERSATION}
    for case in [case for case in IN_WORKSPACE if case.method == "GET"]:
        answer = ask(caller, case, mine.private)
        assert not holds(answer, mine.private_canary), case
        assert mine.private["leaf_id"] not in str(told(answer)), case
        if private & set(case.parts):
            assert answer.status_code == 404, case
    for value in ("ana", "*", str(mine.users["ana"].id)):
        for path in ("trees", "entities", "events", "gaps", "memory/browse"):
            assert caller.get(f"workspaces/notes/{path}?user_id={value}").status_code in (403, 404)
    assert rows(mine) == before


def test_one_end_users_key_changes_only_its_own(mine: Side) -> None:
    caller, before = mine.callers["ben"], rows(mine)
    for values in (mine.private, mine.ids):
        for case in [case for case in BY_ID if case.method != "GET"]:
            answer = ask(caller, case, values)
            expected = (200, 204, 404) if case.kind == "key-read" else (403, 404)
            assert answer.status_code in expected, case
    written = caller.post(
        "workspaces/notes/events", {"kind": "user_message", "text": "Mine.", "user_id": "ana"}
    )
    assert written.status_code == 404
    assert rows(mine) == before


@pytest.mark.parametrize("change", [";x", "/", "//", "%2e%2e/", "/../"])
def test_no_spelling_of_an_address_goes_around_the_door(
    change: str, mine: Side, theirs: Side
) -> None:
    for case in [case for case in WITH_ID if case.method == "GET"]:
        for path in (case.address(mine.ids) + change, case.address(mine.ids).upper()):
            answer = theirs.callers["owner"].get(path)
            assert answer.status_code in (301, 404), (case, path)
            assert not holds(answer, mine.canary), case

"""Erasing through the API, and every door through which the text could still be read."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.api.client import Caller, Side, caller_for, codes, new_side
from tests.dashboard.people import make_person, signed_in_client
from tests.verification import assert_clean
from tests.workspaces.erasing import chinese, english
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from tests.workspaces.traces import assert_no_trace, chinese_canary, english_canary, tables_holding
from workspaces.services.end_users import ensure_end_user


def erase_path(side: Side, leaf_id: object) -> str:
    return f"{side.base}/leaves/{leaf_id}:erase"


def fill(side: Side, text: str, **values: object) -> Any:
    """Ten leaves of one tree, eight of them under a summary; the result of the one with the text."""
    facts = [draft(fact, minutes=number * 2) for number, fact in enumerate(ATLAS_FACTS[:9])]
    return remember(side.workspace, draft(text, minutes=3, **values), *facts)[0]


def test_the_answer_is_a_receipt_that_completes(side: Side, api: Caller) -> None:
    result = fill(side, english(english_canary()))
    leaf_id = result.chunks[0].leaf_id
    answer = api.post(erase_path(side, leaf_id), {"reason": "asked for"})
    assert answer.status_code == 202
    asked = answer.json()
    assert (asked["status"], asked["leaf_id"], asked["reason"]) == (
        "requested",
        str(leaf_id),
        "asked for",
    )
    assert asked["completed_at"] is None
    assert (asked["counts"]["leaves"], asked["counts"]["events"]) == (1, 1)
    path = f"{side.base}/erasures/{asked['erasure_id']}"
    assert api.get(path).json() == asked
    again = api.post(erase_path(side, leaf_id))
    assert (again.status_code, again.json()) == (202, asked)
    drain(side.workspace)
    done = api.get(path).json()
    assert done["status"] == "complete"
    assert done["completed_at"] is not None
    assert api.post(erase_path(side, leaf_id), {}).json() == done
    assert_clean(side.workspace)


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"reason": 5}, "reason", "invalid_type"),
        ({"reason": "x" * 501}, "reason", "max_length"),
        ({"only_this": "yes"}, "only_this", "invalid_type"),
        ({"everything": True}, "everything", "unknown_field"),
    ],
)
def test_a_bad_body_is_named_and_erases_nothing(
    side: Side, api: Caller, body: dict[str, object], field: str, code: str
) -> None:
    [result] = remember(side.workspace, draft(english(english_canary())))
    answer = api.post(erase_path(side, result.chunks[0].leaf_id), body)
    assert answer.status_code == 400
    assert codes(answer) == {field: code}
    with workspace_scope(side.workspace, ALL_SCOPES):
        assert not side.workspace.erasures.exists()


def test_unknown_ids_and_foreign_ones_are_404(side: Side, api: Caller) -> None:
    other = new_side()
    [result] = remember(other.workspace, draft(english(english_canary())))
    leaf_id = result.chunks[0].leaf_id
    taken = other.caller.post(erase_path(other, leaf_id)).json()
    for path in (
        erase_path(side, leaf_id),
        erase_path(side, uuid4()),
        f"{side.base}/erasures/{uuid4()}",
        f"{side.base}/erasures/{taken['erasure_id']}",
    ):
        method = "POST" if path.endswith(":erase") else "GET"
        assert api.send(method, path).status_code == 404
    drain(other.workspace)


def test_a_key_of_one_end_user_erases_its_own_memory_only(side: Side) -> None:
    shared, own, foreign = remember(
        side.workspace,
        draft(english(english_canary())),
        draft(english(english_canary()), user_id="mara"),
        draft(english(english_canary()), user_id="tom"),
    )
    with workspace_scope(side.workspace, ALL_SCOPES):
        user_id = ensure_end_user(side.workspace, ref="mara")
        user = side.workspace.end_users.get(id=user_id)
    caller = caller_for(
        side.tenant,
        permissions=["memory:read", "memory:write"],
        workspace=side.workspace,
        end_user=user,
    )
    for result, status in ((shared, 404), (foreign, 404), (own, 202)):
        answer = caller.post(erase_path(side, result.chunks[0].leaf_id))
        assert answer.status_code == status
    assert caller.get(f"{side.base}/erasures/{answer.json()['erasure_id']}").status_code == 200
    drain(side.workspace)


def doors(side: Side, result: Any, *, summary_ids: list[str]) -> list[str]:
    """Every address of the API under which the leaf, its sources or its summaries were shown."""
    leaf_id, base = result.chunks[0].leaf_id, side.base
    key = result.chunks[0].tree_key
    return [
        f"{base}/leaves/{leaf_id}",
        f"{base}/leaves/{leaf_id}/history",
        f"{base}/events",
        f"{base}/events/{result.event_id}",
        f"{base}/jobs",
        f"{base}/trees",
        f"{base}/trees/{key}",
        f"{base}/entities",
        f"{base}/gaps",
        f"{base}/audit",
        f"{base}/status",
        f"{base}/memory/browse?path=interaction/{key}&depth=3",
        f"{base}/memory/browse?path=interaction/{key}/leaves",
        f"{base}/memory/browse?node_id={leaf_id}",
        *(f"{base}/summaries/{summary_id}" for summary_id in summary_ids),
        *(f"{base}/memory/browse?node_id={summary_id}" for summary_id in summary_ids),
    ]


def pages(side: Side, result: Any, *, summary_ids: list[str]) -> list[str]:
    leaf_id, tree_id = result.chunks[0].leaf_id, result.chunks[0].tree_id
    base = f"/w/{side.tenant.slug}/{side.workspace.slug}"
    return [
        f"{base}/",
        f"{base}/trees/",
        f"{base}/trees/{tree_id}/",
        f"{base}/nodes/{leaf_id}/",
        *(f"{base}/nodes/{summary_id}/" for summary_id in summary_ids),
        f"{base}/events/",
        f"{base}/entities/",
        f"{base}/jobs/",
        f"{base}/gaps/",
        f"{base}/audit/",
    ]


def admin_pages(result: Any, *, summary_ids: list[str]) -> list[str]:
    leaf_id = result.chunks[0].leaf_id
    base = "/admin/workspaces"
    return [
        f"{base}/sourceleaf/",
        f"{base}/sourceleaf/{leaf_id}/change/",
        f"{base}/event/",
        f"{base}/event/{result.event_id}/change/",
        f"{base}/chunk/",
        f"{base}/summarynode/",
        *(f"{base}/summarynode/{summary_id}/change/" for summary_id in summary_ids),
        f"{base}/erasure/",
        "/admin/retrieval/retrievallog/",
    ]


def read_all(side: Side, people: list[Client], addresses: list[list[str]]) -> str:
    """Everything that the doors answer, whatever their status."""
    api, web, admin = addresses
    found = [side.caller.get(address).content for address in api]
    found += [people[0].get(address, follow=True).content for address in web]
    found += [people[1].get(address, follow=True).content for address in admin]
    asked = side.caller.post(
        f"{side.base}/memory/retrieve",
        {"query": "Who looks after the Atlas gateway at night? 谁负责夜班？"},
    )
    return b"\n".join([*found, asked.content]).decode()


@pytest.mark.parametrize(
    ("say", "canary"),
    [
        pytest.param(english, english_canary, id="en", marks=pytest.mark.slow),
        pytest.param(chinese, chinese_canary, id="zh"),
    ],
)
def test_from_the_answer_on_no_door_shows_the_text(side: Side, say: Any, canary: Any) -> None:
    word = canary()
    result = fill(side, say(word), actor=word, metadata={"about": word})
    people = [
        signed_in_client(make_person(side.tenant)),
        signed_in_client(make_person(None, is_staff=True, is_superuser=True)),
    ]
    with workspace_scope(side.workspace, ALL_SCOPES):
        summary_ids = list(map(str, side.workspace.summaries.values_list("id", flat=True)))
    assert summary_ids
    addresses = [
        doors(side, result, summary_ids=summary_ids),
        pages(side, result, summary_ids=summary_ids),
        admin_pages(result, summary_ids=summary_ids),
    ]
    side.caller.post(f"{side.base}/memory/retrieve", {"query": f"Who is {word}?"})
    assert word in read_all(side, people, addresses)
    answer = side.caller.post(erase_path(side, result.chunks[0].leaf_id))
    assert answer.status_code == 202
    assert word not in read_all(side, people, addresses)
    assert tables_holding(word) == []
    drain(side.workspace)
    assert word not in read_all(side, people, addresses)
    assert_no_trace(word)
    assert_clean(side.workspace)

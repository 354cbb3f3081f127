"""Asking, browsing, gaps and feedback over HTTP."""

from uuid import uuid4

import pytest

from retrieval.api.serializers import RetrieveAnswerSerializer
from tests.api.client import Side, caller_for, codes, new_side
from tests.workspaces.memory import draft, remember

FACTS = (
    "The Atlas gateway listens on port 8443.",
    "Mara Lindqvist owns the Atlas gateway.",
    "Backups of the Atlas gateway run at 02:15 every night.",
)


@pytest.fixture(scope="module")
def atlas(django_db_setup: None) -> Side:
    side = new_side()
    facts = [draft(text, minutes=n) for n, text in enumerate(FACTS)]
    remember(side.workspace, *facts, draft("Ann's PIN reminder is the blue door.", user_id="ann"))
    return side


def ask(side: Side, query: str, **values: object) -> dict[str, object]:
    response = side.caller.post(f"{side.base}/memory/retrieve", {"query": query, **values})
    assert response.status_code == 200, response.content
    body: dict[str, object] = response.json()
    return body


def test_a_question_gets_evidence_and_a_pack(atlas: Side) -> None:
    body = ask(atlas, "Who owns the Atlas gateway?")
    assert set(body) == {
        "retrieval_id",
        "query",
        "intent",
        "retrieval_pack",
        "evidence",
        "gaps",
        "coverage",
        "prompt",
        "degraded",
    }
    assert "Mara Lindqvist" in str(body["evidence"])
    shown = RetrieveAnswerSerializer(body).data
    assert shown == body, "the documented shape is not the answer's"


def test_what_memory_lacks_becomes_a_gap_that_can_be_dismissed(atlas: Side) -> None:
    ask(atlas, "Which colour is the cafeteria in Oslo?")
    [gap] = [
        gap
        for gap in atlas.caller.get(f"{atlas.base}/gaps?status=open").json()["results"]
        if "Oslo" in gap["question"]
    ]
    address = f"{atlas.base}/gaps/{gap['gap_id']}:dismiss"
    dismissed = atlas.caller.post(address)
    assert (dismissed.status_code, dismissed.json()["status"]) == (200, "dismissed")
    assert atlas.caller.post(address).status_code == 409
    assert atlas.caller.post(f"{atlas.base}/gaps/{uuid4()}:dismiss").status_code == 404


def test_private_memory_answers_its_end_user_only(atlas: Side) -> None:
    question = "What is the PIN reminder?"
    assert "blue door" not in str(ask(atlas, question)["evidence"])
    assert "blue door" in str(ask(atlas, question, user_id="ann")["evidence"])


def test_everyones_memory_needs_its_permission(atlas: Side) -> None:
    reader = caller_for(atlas.tenant, permissions=["memory:read"])
    path = f"{atlas.base}/memory/retrieve"
    assert reader.post(path, {"query": "PIN?"}).status_code == 200
    assert reader.post(path, {"query": "PIN?", "user_id": "*"}).status_code == 403


def test_feedback_is_kept_with_its_retrieval(atlas: Side) -> None:
    asked = ask(atlas, "Who owns the Atlas gateway?")
    address = f"{atlas.base}/retrievals/{asked['retrieval_id']}/feedback"
    assert atlas.caller.post(address, {"verdict": "helpful"}).status_code == 204
    refused = atlas.caller.post(address, {"verdict": "great"})
    assert codes(refused) == {"verdict": "invalid_choice"}
    absent = f"{atlas.base}/retrievals/{uuid4()}/feedback"
    assert atlas.caller.post(absent, {"verdict": "great"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "a" * 4001}, "query"),
        ({"query": 5}, "query"),
        ({"query": "a", "max_results": 51}, "max_results"),
        ({"query": "a", "max_results": "5"}, "max_results"),
        ({"query": "a", "token_budget": 10**20}, ""),
        ({"query": "a", "mode": "fast"}, "mode"),
        ({"query": "a", "categories": "interaction"}, "categories"),
        ({"query": "a", "as_of": "2026-05-20T09:30:00"}, "as_of"),
        ({"query": "a", "timezone": "Mars/Olympus"}, "timezone"),
        ({"query": "a", "surprise": 1}, "surprise"),
        ({"query": "a", "time_range": {"surprise": 1}}, "time_range.surprise"),
    ],
)
def test_a_question_that_is_not_one_is_refused_by_field(
    atlas: Side, body: dict[str, object], field: str
) -> None:
    response = atlas.caller.post(f"{atlas.base}/memory/retrieve", body)
    assert response.status_code == 400
    assert set(codes(response)) == {field}


def test_the_tree_can_be_walked_from_the_top(atlas: Side) -> None:
    top = atlas.caller.get(f"{atlas.base}/memory/browse").json()
    assert set(top) == {"node", "parents", "children", "next_cursor"}
    assert top["children"]


@pytest.mark.parametrize(
    "query", ["depth=0", "depth=4", "limit=0", "node_id=5", "surprise=1", "cursor=forged"]
)
def test_a_walk_out_of_bounds_is_refused(atlas: Side, query: str) -> None:
    response = atlas.caller.get(f"{atlas.base}/memory/browse?{query}")
    assert response.status_code == 400
    assert set(codes(response)) == {query.partition("=")[0]}

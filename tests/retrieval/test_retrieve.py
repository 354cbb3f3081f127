from datetime import timedelta
from typing import Any

import pytest

from holamem.database.scope import workspace_scope
from retrieval.models import RetrievalLog
from tests.retrieval.asking import ask, counted_statements, facts, node_ids
from tests.retrieval.factories import DAY, MemoryMaker
from workspaces.bodies import body_storage
from workspaces.models.tenancy import Workspace


def test_an_english_question_is_answered_with_a_citation(team: MemoryMaker) -> None:
    answer = ask(team.workspace, "Which port does the Atlas gateway listen on in production?")

    assert answer["coverage"]["level"] in ("medium", "high")
    assert "8443" in facts(answer)
    first = answer["evidence"][0]
    assert first["excerpt"] == "The Atlas gateway listens on port 8443 in production."
    assert first["citation"]["start"] == 0
    assert first["citation"]["end"] == len(first["excerpt"])
    assert answer["retrieval_pack"]["recommended_next_step"]["type"] == "answer_from_memory"
    assert answer["gaps"] == []


def test_a_chinese_question_is_answered(team: MemoryMaker) -> None:
    answer = ask(team.workspace, "支付网关在生产环境用哪个端口？")

    assert answer["coverage"]["level"] in ("medium", "high")
    assert "9000" in facts(answer)
    assert "（2026年5月20日）" in facts(answer)
    assert "已知事实" in answer["prompt"]


@pytest.mark.parametrize(
    "query",
    [
        "What is the office rent in Lisbon?",
        "How tall is the Eiffel Tower?",
        "办公室的租金是多少？",
        "埃菲尔铁塔有多高？",
    ],
)
def test_what_was_never_mentioned_is_a_gap_and_no_fact(team: MemoryMaker, query: str) -> None:
    answer = ask(team.workspace, query)

    assert answer["coverage"]["level"] in ("none", "low")
    assert answer["retrieval_pack"]["known_facts"] == []
    assert [gap["kind"] for gap in answer["gaps"]] == ["missing"]
    assert answer["gaps"][0]["suggested_source"]["kind"]
    assert answer["retrieval_pack"]["recommended_next_source"] is not None
    step = answer["retrieval_pack"]["recommended_next_step"]["type"]
    assert step in ("search_source", "ask_user")


def test_an_unknown_name_beside_known_words_is_not_answered(team: MemoryMaker) -> None:
    answer = ask(team.workspace, "Which port does the Zephyr gateway listen on in production?")

    assert answer["coverage"]["level"] in ("none", "low")
    assert answer["retrieval_pack"]["known_facts"] == []


def test_an_empty_memory_says_that_nothing_is_known(workspace: Workspace) -> None:
    answer = ask(workspace, "Which port does Atlas use?")

    assert answer["evidence"] == []
    assert answer["coverage"]["level"] == "none"
    assert answer["gaps"][0]["kind"] == "missing"
    assert "Memory holds nothing sufficient on this." in answer["prompt"]


def test_every_pack_item_cites_evidence_of_the_answer(team: MemoryMaker) -> None:
    answer = ask(team.workspace, "What do we know about the Atlas gateway?")

    known = {item["evidence_id"] for item in answer["evidence"]}
    pack = answer["retrieval_pack"]
    lists = ("known_facts", "recent_high_signal_items", "constraints", "blockers", "open_questions")
    items = [item for name in lists for item in pack[name]]
    assert items
    assert all(item["evidence_ids"] and set(item["evidence_ids"]) <= known for item in items)
    assert any("platform team" in item["text"] for item in pack["constraints"])


def test_the_same_question_gives_the_same_answer(team: MemoryMaker) -> None:
    def stable(answer: dict[str, Any]) -> dict[str, Any]:
        kept = {k: v for k, v in answer.items() if k not in ("retrieval_id", "prompt")}
        return kept

    first = ask(team.workspace, "Who owns the on-call rota?")
    second = ask(team.workspace, "Who owns the on-call rota?")

    assert stable(first) == stable(second)


def test_an_answer_takes_six_statements_at_most(team: MemoryMaker) -> None:
    leaves = [
        team.leaf(f"Atlas fact number {n}.", tree=team.tree("Atlas gateway")) for n in range(3)
    ]
    team.summary("Atlas has facts.", children=leaves)
    ask(team.workspace, "warm the caches")

    for query in (
        "Which port does the Atlas gateway use? Who owns the rota?",
        "Summarise the Atlas gateway",
        "What changed last year?",
    ):
        with counted_statements() as seen:
            ask(team.workspace, query, time_range={"from": "2020-01-01T00:00:00Z"})
        assert len(seen) <= 6, query


def test_no_more_bodies_are_read_than_results_were_asked_for(
    team: MemoryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = body_storage()
    opened: list[str] = []
    original = type(storage).open

    def counting(self: Any, name: str, mode: str = "rb") -> Any:
        opened.append(name)
        return original(self, name, mode)

    monkeypatch.setattr(type(storage), "open", counting)

    answer = ask(team.workspace, "Atlas gateway", max_results=2)

    assert len(answer["evidence"]) == 2
    assert len(opened) == 2
    assert answer["coverage"]["searched"]["bodies_read"] == 2


def test_excerpts_stay_within_the_token_budget(memory: MemoryMaker) -> None:
    for number in range(6):
        memory.leaf(" ".join(f"Atlas sentence {number} {n} about ports." for n in range(60)))

    answer = ask(memory.workspace, "Atlas ports", token_budget=100)

    assert answer["coverage"]["searched"]["tokens"] <= 100
    assert len(answer["evidence"]) == 6


def test_two_active_leaves_that_disagree_are_a_conflict(memory: MemoryMaker) -> None:
    for host in ("Frankfurt", "Dublin"):
        memory.leaf(f"The staging copy of Atlas lives in {host}.", subject_key="atlas:staging")

    answer = ask(memory.workspace, "Where does the staging copy of Atlas live?")

    assert [gap["kind"] for gap in answer["gaps"]] == ["conflicting"]
    assert "Frankfurt" in facts(answer)
    assert "Dublin" in facts(answer)


@pytest.mark.parametrize(
    ("told", "query"),
    [
        (
            "The staging copy of Atlas lives in Dublin.",
            "Where does the staging copy of Atlas live?",
        ),
        ("支付网关的测试机房在苏州。", "支付网关的测试机房在哪里？"),
    ],
)
def test_what_only_an_uncertain_leaf_says_is_a_gap(
    memory: MemoryMaker, told: str, query: str
) -> None:
    memory.leaf(told, confidence=0.4)

    answer = ask(memory.workspace, query)

    assert [(gap["kind"], gap["question"]) for gap in answer["gaps"]] == [("low_confidence", query)]


def test_stale_evidence_is_marked_and_must_be_verified(memory: MemoryMaker) -> None:
    memory.leaf(
        "Atlas runs version 2.14.1 in production.",
        observed_at=DAY - timedelta(days=200),
        staleness_policy="decays",
        stale_after_days=90,
        verification_policy="verify_if_stale",
    )

    answer = ask(memory.workspace, "Which version does Atlas run in production?")

    assert answer["evidence"][0]["stale"]
    assert answer["evidence"][0]["freshness"] == "stale"
    fact = answer["retrieval_pack"]["known_facts"][0]
    assert fact["verification"] == "verify_if_stale"
    step = answer["retrieval_pack"]["recommended_next_step"]
    assert step["type"] == "verify_live_state"
    assert step["source"]
    assert [gap["kind"] for gap in answer["gaps"]] == ["stale"]


def test_fresh_evidence_that_decays_needs_no_check(memory: MemoryMaker) -> None:
    memory.leaf(
        "Atlas runs version 2.14.1 in production.",
        staleness_policy="decays",
        stale_after_days=90,
        verification_policy="verify_if_stale",
    )

    answer = ask(memory.workspace, "Which version does Atlas run in production?")

    assert answer["retrieval_pack"]["known_facts"][0]["verification"] == "none"
    assert answer["retrieval_pack"]["recommended_next_step"]["type"] == "answer_from_memory"


def test_evidence_carries_its_sources_and_metadata(memory: MemoryMaker) -> None:
    leaf = memory.leaf("Atlas speaks gRPC.", metadata={"turn": 7}, labels=["protocol"])

    item = ask(memory.workspace, "Does Atlas speak gRPC?")["evidence"][0]

    assert item["node_id"] == str(leaf.id)
    assert item["metadata"] == {"turn": 7}
    assert [source["metadata"] for source in item["sources"]] == [{"turn": 7}]
    assert item["labels"] == ["protocol"]
    assert item["entities"] == ["Atlas"]
    assert item["level"] == 0


def test_a_part_of_the_query_may_stay_open(team: MemoryMaker) -> None:
    answer = ask(
        team.workspace, "Which port does the Atlas gateway listen on? How tall is the Eiffel Tower?"
    )

    levels = [item["level"] for item in answer["coverage"]["per_question"]]
    assert levels[0] in ("medium", "high")
    assert levels[1] in ("none", "low")
    assert [gap["question"] for gap in answer["gaps"]] == ["How tall is the Eiffel Tower?"]
    assert "8443" in facts(answer)
    assert answer["retrieval_pack"]["recommended_next_step"]["type"] != "answer_from_memory"


def test_the_retrieval_is_logged_with_its_gaps(team: MemoryMaker) -> None:
    answer = ask(team.workspace, "How tall is the Eiffel Tower?")

    with workspace_scope(team.workspace):
        log = RetrievalLog.objects.get(id=answer["retrieval_id"])
    assert log.coverage_level == answer["coverage"]["level"]
    assert log.gap_ids == [gap["gap_id"] for gap in answer["gaps"]]
    assert log.node_ids == node_ids(answer)
    assert "candidates" in log.timings_ms


def test_explain_names_the_fate_of_every_candidate(team: MemoryMaker) -> None:
    explained = ask(team.workspace, "Atlas gateway port", max_results=2, explain=True)["explain"]

    kept = [item for item in explained["candidates"] if item["kept"]]
    dropped = [item for item in explained["candidates"] if not item["kept"]]
    assert [item["evidence_id"] for item in kept] == ["E1", "E2"]
    assert dropped
    assert all(item["dropped"] for item in dropped)
    assert {"intent", "candidates", "hydrate"} <= set(explained["timings_ms"])
    assert "explain" not in ask(team.workspace, "Atlas gateway port")

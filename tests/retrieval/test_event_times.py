"""Questions about the time before or after something that memory tells of."""

from datetime import timedelta

import pytest

from retrieval.stages.event_cues import asks_of_the_past, named_event
from tests.retrieval.asking import ask, facts, node_ids
from tests.retrieval.factories import DAY, MemoryMaker


@pytest.mark.parametrize(
    ("query", "event"),
    [
        ("Which port did Atlas use before the migration to Go?", "the migration to Go"),
        ("What did Maya do after returning from Lisbon?", "returning from Lisbon"),
        ("What had failed before Jonas moved to Mobile?", "Jonas moved to Mobile"),
        ("迁移到 Go 之前支付网关用哪个端口？", None),
        ("搬家之前他住在哪里？", "搬家"),
        ("What must run before the release?", None),
        ("发布之前必须做什么？", None),
        ("Which port does Atlas use?", None),
    ],
)
def test_an_event_is_read_from_questions_about_the_past(query: str, event: str | None) -> None:
    match = named_event(query)

    if event is None:
        assert match is None or not asks_of_the_past(query) or match["event"] in query
    else:
        assert match is not None
        assert match["event"] == event


def test_before_an_event_means_before_the_leaf_that_tells_of_it(memory: MemoryMaker) -> None:
    old = memory.leaf(
        "Atlas uses port 8080.",
        observed_at=DAY - timedelta(days=30),
        status="superseded",
        valid_until=DAY - timedelta(days=5),
    )
    memory.leaf("The migration of Atlas to Go is done.", observed_at=DAY - timedelta(days=10))
    new = memory.leaf("Atlas uses port 9443.", observed_at=DAY - timedelta(days=5))

    before = ask(memory.workspace, "Which port did Atlas use before the migration to Go?")
    after = ask(memory.workspace, "Which port did Atlas use after the migration to Go?")
    now = ask(memory.workspace, "Which port does Atlas use?")

    assert "8080" in facts(before)
    assert "9443" not in facts(before)
    assert "9443" in facts(after)
    assert "8080" not in facts(after)
    assert str(old.id) not in node_ids(now)
    assert node_ids(now)[0] == str(new.id)


def test_a_chinese_question_about_the_time_before_an_event(memory: MemoryMaker) -> None:
    tree = memory.tree("支付网关")
    for text, days in (
        ("支付网关使用 8080 端口。", 30),
        ("支付网关的迁移已经完成。", 10),
        ("支付网关使用 9443 端口。", 5),
    ):
        memory.leaf(text, tree=tree, observed_at=DAY - timedelta(days=days))

    before = ask(memory.workspace, "迁移之前支付网关使用哪个端口？")
    after = ask(memory.workspace, "迁移之后支付网关使用哪个端口？")

    assert "8080" in facts(before)
    assert "9443" not in facts(before)
    assert "9443" in facts(after)
    assert "8080" not in facts(after)


def test_an_event_that_memory_does_not_tell_of_is_no_time(memory: MemoryMaker) -> None:
    memory.leaf("Atlas uses port 9443.")

    answer = ask(memory.workspace, "Which port did Atlas use before the earthquake in Lisbon?")

    assert [gap["kind"] for gap in answer["gaps"]] != ["outside_time_range"]


def test_the_leaf_of_the_event_is_no_answer_to_what_was_before_it(memory: MemoryMaker) -> None:
    memory.leaf("Ledger runs version 5.3.0.", observed_at=DAY - timedelta(days=30))
    memory.leaf("The upgrade of Ledger to version 5.4.2 took place on 2 May 2026.")

    answer = ask(memory.workspace, "Which version did Ledger run before the upgrade of Ledger?")

    assert "5.3.0" in facts(answer)
    assert "5.4.2" not in facts(answer)


@pytest.mark.parametrize(
    "query", ["Which version of Ledger ran before the upgrade?", "对账系统升级之前是哪个版本？"]
)
def test_an_event_in_other_words_than_those_of_its_leaf(memory: MemoryMaker, query: str) -> None:
    memory.leaf(
        "Version 5.3.0 of Ledger ran on 3 nodes. 对账系统检查结果：运行正常，版本 5.3.0。",
        observed_at=DAY - timedelta(days=30),
    )
    memory.leaf(
        "The upgrade of Ledger to version 5.4.2 is done. 对账系统4月2日升级到了 5.4.2 版本。",
        observed_at=DAY - timedelta(days=5),
    )

    answer = ask(memory.workspace, query)

    assert "5.3.0" in facts(answer)
    assert "5.4.2" not in facts(answer)


@pytest.mark.parametrize(
    ("told", "query", "day"),
    [
        ("Lena is on holiday from 6 June on.", "Who is on holiday in June?", "6 June"),
        ("韩雪6月6日到6月15日休年假。", "六月谁休年假？", "6月6日"),
    ],
)
def test_a_month_to_come_is_asked_for_in_the_present(
    memory: MemoryMaker, told: str, query: str, day: str
) -> None:
    memory.leaf(told, observed_at=DAY - timedelta(days=5))

    answer = ask(memory.workspace, query)

    assert answer["intent"]["time_range"]["from"].startswith("2026-06-01")
    assert day in facts(answer)


@pytest.mark.parametrize("query", ["As of March, who owns the rota?", "截至3月，值班表由谁负责？"])
def test_as_of_a_month_means_what_held_at_its_end(memory: MemoryMaker, query: str) -> None:
    march, april = DAY.replace(month=3), DAY.replace(month=4)
    for who, since, status, until in (
        ("Jonas", march, "superseded", april),
        ("Priya", april, "active", None),
    ):
        memory.leaf(
            f"The rota is owned by {who}. 值班表由 {who} 负责。",
            observed_at=since,
            status=status,
            valid_until=until,
        )

    found = facts(ask(memory.workspace, query))

    assert "Jonas" in found
    assert "Priya" not in found

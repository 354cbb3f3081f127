from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from retrieval.stages.intent import build_intent, names_in, read_query
from retrieval.types import Anchor, Lookups, Provider, Reading

ANCHOR = Anchor(datetime(2026, 5, 22, 9, tzinfo=UTC), ZoneInfo("UTC"))


def read(query: str, mode: str = "auto") -> Reading:
    return read_query(query, mode=mode, explicit=None, anchor=ANCHOR)


@pytest.mark.parametrize(
    ("query", "kind", "mode"),
    [
        ("Which port does Atlas use?", "fact_lookup", "exact_evidence"),
        ("支付网关用哪个端口？", "fact_lookup", "exact_evidence"),
        ("How do we roll back Atlas?", "procedure_lookup", "exact_evidence"),
        ("怎么回滚支付网关？", "procedure_lookup", "exact_evidence"),
        ("How many users do we have?", "fact_lookup", "exact_evidence"),
        ("Summarise project Atlas", "briefing", "broad_summary"),
        ("总结一下支付网关的情况", "briefing", "broad_summary"),
        ("What should we do next about Atlas?", "planning", "broad_summary"),
        ("下一步该怎么做", "planning", "broad_summary"),
        ("What changed this week?", "delta", "broad_summary"),
        ("这周学到了什么", "delta", "broad_summary"),
        ("2026-05-20 发生了什么变化", "delta", "broad_summary"),
        ("Tell me about ERR-4012", "briefing", "exact_evidence"),
    ],
)
def test_the_kind_and_mode_follow_the_words(query: str, kind: str, mode: str) -> None:
    reading = read(query)

    assert (reading.kind, reading.mode) == (kind, mode)


def test_an_asked_for_mode_wins() -> None:
    assert read("Summarise project Atlas", mode="exact_evidence").mode == "exact_evidence"
    assert read("Which port?", mode="broad_summary").mode == "broad_summary"


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (
            "Who owns the rota and when is the deployment window?",
            ["Who owns the rota", "when is the deployment window?"],
        ),
        ("谁负责值班？部署窗口是什么时候？", ["谁负责值班？", "部署窗口是什么时候？"]),
        ("小王多大了，以及他住在哪里", ["小王多大了", "他住在哪里"]),
        ("Maya likes tea. What does she drink?", ["Maya likes tea. What does she drink?"]),
        ("Which port does Atlas use?", ["Which port does Atlas use?"]),
        ("Who and when?", ["Who and when?"]),
    ],
)
def test_a_query_is_split_into_its_questions(query: str, parts: list[str]) -> None:
    assert [question.text for question in read(query).questions] == parts


def test_more_than_four_questions_are_joined_at_the_end() -> None:
    query = "Who owns Atlas? Who owns Beacon? Who owns Harbor? Who owns Ledger? Who owns Redis?"

    questions = read(query).questions

    assert len(questions) == 4
    assert "Redis" in questions[-1].text


def test_each_question_has_the_time_that_its_own_words_name() -> None:
    first, second = read("What did Maya say yesterday? What did Jonas say last week?").questions

    assert first.time_range is not None
    assert second.time_range is not None
    assert first.time_range.start == datetime(2026, 5, 21, tzinfo=UTC)
    assert second.time_range.start == datetime(2026, 5, 11, tzinfo=UTC)


def test_words_that_only_ask_are_no_part_of_the_topic() -> None:
    assert read("Summarise the Atlas gateway").questions[0].topic_terms == ("atlas", "gateway")
    assert read("What changed this week?").questions[0].topic_terms == ()


def test_names_are_capitalised_quoted_or_identifiers() -> None:
    assert names_in('What does Zephyr\'s "blue book" say about ERR-4012?') == (
        "zephyr",
        "blue book",
        "err-4012",
    )
    assert names_in("What is the port?") == ()


def test_synced_data_means_integration_only_where_there_is_any() -> None:
    reading = read("最近的集成数据中哪些提到了项目 alpha")
    connected = Lookups(providers=(Provider("github", "holaos"),))

    assert build_intent(reading, categories=None, known=connected).categories == ("integration",)
    assert len(build_intent(reading, categories=None, known=Lookups()).categories) == 2
    asked = build_intent(reading, categories=["interaction"], known=connected)
    assert asked.categories == ("interaction",)


def test_a_pasted_conversation_is_one_question() -> None:
    talk = "I shall do magic at the gala!\nI am a bit nervous, any ideas?\nWhat should I wear?"
    assert [question.text for question in read(talk).questions] == [talk]
    zh = "元旦晚会我要表演魔术！\n我有点紧张，你有什么建议吗？\n我要穿什么好呢？"
    assert len(read(zh).questions) == 1


def test_the_last_line_of_a_pasted_conversation_is_known() -> None:
    talk = "I shall do magic at the gala!\nI am a bit nervous, any ideas?\nWhat should I wear?"

    assert read(talk).questions[0].last_terms == {"wear"}
    assert read("What should I wear?").questions[0].last_terms == frozenset()


def test_a_list_of_questions_is_still_taken_apart() -> None:
    asked = "Which port does Atlas use?\nWho may restart it?\nWhere are its logs?"
    assert len(read(asked).questions) == 3


def test_a_pasted_conversation_names_no_time_that_is_asked_about() -> None:
    said = "I am tired today.\nThe rain will not stop.\nDo you remember the lake?"

    assert read(said).time_range is None
    assert read("What did we see today?").time_range is not None

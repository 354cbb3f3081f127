"""Questions about something that memory knows: its name alone is no answer."""

import pytest

from tests.retrieval.asking import ask, facts
from tests.retrieval.factories import MemoryMaker

GATEWAY = (
    "Atlas gateway listens on port 8443 in production and on port 8080 in staging.",
    "The Atlas gateway has three environments: dev, staging and production.",
    "I deployed Atlas gateway 2.15.0 to production, all 6 instances are healthy.",
    "The budget of the Atlas gateway for this quarter is 18,000 euros.",
    "Atlas gateway 3.0 drops the old XML format.",
    "We decided to move the launch of Atlas gateway 3.0 to 3 June 2026.",
)
CHINESE_GATEWAY = (
    "支付网关的生产端口是 9443，测试环境用 9080。",
    "支付网关目前接了微信支付、支付宝和银联三个渠道。",
    "支付网关的渠道手续费每月五号结算，上个月一共付了 26 万元。",
    "支付网关 4.7.0 发布到生产环境成功，6 台实例全部健康。",
    "支付网关的密钥每 60 天轮换一次。",
)


@pytest.fixture
def named(memory: MemoryMaker) -> MemoryMaker:
    for text in GATEWAY:
        memory.leaf(text, tree=memory.tree("Atlas gateway"), actor="Maya")
    for text in CHINESE_GATEWAY:
        memory.leaf(text, tree=memory.tree("支付网关"), actor="林晓雯")
    for name, text in (
        ("Maya Okafor", "Maya Okafor is the lead engineer of the platform team."),
        ("Maya Okafor", "Maya Okafor prefers short answers with the command first."),
        ("Jonas Weber", "Jonas Weber moved to the mobile team on 9 March 2026."),
        ("Beacon", "Beacon keeps raw metrics for 30 days and hourly averages for two years."),
        ("Beacon", "Beacon scrapes every service once every 15 seconds."),
        ("韩雪", "韩雪5月6日到5月15日休年假，期间由林晓雯代班。"),
        ("韩雪", "韩雪是我们这边对接海澜鲜果的负责人。"),
    ):
        memory.leaf(text, tree=memory.tree(name), actor="Maya")
    return memory


@pytest.mark.parametrize(
    "query",
    [
        "Who pays for the Atlas gateway?",
        "Who pays for Atlas?",
        "What is Maya Okafor's phone number?",
        "How old is Jonas Weber?",
        "Who designed the logo of Beacon?",
        "支付网关由谁付费？",
        "支付网关买了什么保险？",
        "韩雪的工资是多少？",
    ],
)
def test_what_was_never_said_about_a_known_entity_is_a_gap(named: MemoryMaker, query: str) -> None:
    answer = ask(named.workspace, query)

    assert answer["coverage"]["level"] in ("none", "low")
    assert answer["retrieval_pack"]["known_facts"] == []
    assert [gap["kind"] for gap in answer["gaps"]] == ["missing"]


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("How long does Beacon store measurements?", "30 days"),
        ("韩雪什么时候放假？", "休年假"),
    ],
)
def test_a_paraphrase_that_shares_the_name_only_is_answered(
    named: MemoryMaker, query: str, fact: str
) -> None:
    answer = ask(named.workspace, query)

    assert answer["coverage"]["level"] in ("medium", "high")
    assert fact in answer["retrieval_pack"]["known_facts"][0]["text"]


@pytest.mark.parametrize(
    "query", ["What should a new colleague know about Atlas?", "新同事需要了解支付网关的哪些情况？"]
)
def test_an_overview_is_covered_by_what_is_known_about_the_entity(
    named: MemoryMaker, query: str
) -> None:
    answer = ask(named.workspace, query)

    assert answer["intent"]["mode"] == "broad_summary"
    assert answer["coverage"]["level"] in ("medium", "high")
    assert len(answer["retrieval_pack"]["known_facts"]) >= 4


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("On which port does the Atlas gateway listen in production?", "8443"),
        ("支付网关的生产端口是多少？", "9443"),
    ],
)
def test_an_exact_question_gets_no_fact_that_covers_less_of_it(
    named: MemoryMaker, query: str, fact: str
) -> None:
    pack = ask(named.workspace, query)["retrieval_pack"]

    assert len(pack["known_facts"]) == 1
    assert fact in pack["known_facts"][0]["text"]
    assert pack["recent_high_signal_items"] == []


def test_an_exact_question_gets_five_facts_at_most(words_only: MemoryMaker) -> None:
    for number in range(9):
        words_only.leaf(f"Atlas listens on port {8000 + number} in region {number}.")

    pack = ask(words_only.workspace, "Which ports does Atlas listen on?")["retrieval_pack"]

    assert len(pack["known_facts"]) == 5


def test_a_signal_of_an_exact_question_is_about_it(named: MemoryMaker) -> None:
    pack = ask(named.workspace, "When is the launch of Atlas gateway 3.0?")["retrieval_pack"]

    assert ["3 June" in item["text"] for item in pack["recent_high_signal_items"]] == [True]


def test_what_happened_asks_for_everything_of_that_day(named: MemoryMaker) -> None:
    named.leaf(
        "After the outage on 11 March 2026 certificates of the Atlas gateway are renewed early.",
        tree=named.tree("Atlas gateway"),
    )

    answer = ask(named.workspace, "What happened to the Atlas gateway on 11 March 2026?")

    assert answer["coverage"]["level"] in ("medium", "high")
    assert "outage" in facts(answer)


def test_another_known_entity_in_the_question_is_what_it_asks(named: MemoryMaker) -> None:
    named.leaf("Beacon watches the Atlas gateway.", tree=named.tree("Atlas gateway"))

    answer = ask(named.workspace, "Is the Atlas gateway connected with Beacon?")

    assert answer["coverage"]["level"] in ("medium", "high")
    assert "Beacon watches the Atlas gateway." in facts(answer)


def test_without_a_model_a_shared_name_is_not_enough(words_only: MemoryMaker) -> None:
    words_only.leaf("Atlas has three environments.")

    answer = ask(words_only.workspace, "Who pays for Atlas?", mode="exact_evidence")

    assert answer["coverage"]["level"] in ("none", "low")


@pytest.mark.parametrize(
    ("query", "reason", "step", "source"),
    [
        ("What is Maya Okafor's phone number?", "Memory|What memory", "Memory", "Nobody has told"),
        ("韩雪的工资是多少？", "记忆", "记忆不足以回答", "没有人告诉过记忆"),
    ],
)
def test_reasons_are_in_the_language_of_the_question(
    named: MemoryMaker, query: str, reason: str, step: str, source: str
) -> None:
    answer = ask(named.workspace, query)
    pack = answer["retrieval_pack"]

    assert answer["gaps"][0]["reason"].startswith(tuple(reason.split("|")))
    assert answer["gaps"][0]["suggested_source"]["reason"].startswith(source)
    assert pack["recommended_next_step"]["reason"].startswith(step)

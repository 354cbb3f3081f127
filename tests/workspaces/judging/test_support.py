"""What a model may say of its sources."""

import pytest

from tests.workspaces.judging.contexts import child
from workspaces.judging.numerals import in_digits, numbers_in
from workspaces.judging.support import source_of, unsupported

PORT = child("a", "The Atlas gateway listens on port 8443 and keeps logs for ninety days.")
论坛 = child("b", "金融科技精英论坛的规模是三千人，由张伟负责，地点是北京。")


@pytest.mark.parametrize(
    "statement",
    [
        "The Atlas gateway listens on port 8443.",
        "Logs of the gateway are kept for 90 days.",
        "Atlas keeps its logs ninety days.",
        "The gateway's port is 8443.",
        "论坛有3000人参加。",
        "张伟负责金融科技精英论坛。",
        "论坛的地点是北京，规模三千人。",
    ],
)
def test_a_paraphrase_is_supported(statement: str) -> None:
    assert unsupported(statement, source=source_of([PORT, 论坛])) == ""


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("", "blank"),
        ("The Atlas gateway listens on port 9443.", "number"),
        ("The Atlas gateway keeps logs for sixty days.", "number"),
        ("论坛的规模是五千人。", "number"),
        ("The Atlas gateway of Zephyr listens on port 8443.", "name"),
        ("Zephyr listens on port 8443.", "name"),
        ("The gateway writes to /var/log/zephyr.", "name"),
        ("Ask ops@example.com about the gateway.", "name"),
        ("李建国负责金融科技精英论坛。", "name"),
        ("Here is a summary of the gateway and its logs.", "template"),
        ("以上内容介绍了金融科技精英论坛。", "template"),
        ("I love long walks and good books.", "words"),
        ("You decide which entity a memory is about.", "words"),
        ("今天天气非常好，适合出去玩。", "words"),
    ],
)
def test_what_no_source_says_is_named(statement: str, why: str) -> None:
    assert unsupported(statement, source=source_of([PORT, 论坛])) == why


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("twenty-five percent of 1,200", {"25", "1200"}),
        ("two hundred and fifty people", {"250"}),
        ("one thousand two hundred", {"1200"}),
        ("三千人，一百二十五元，两万五千，十二个", {"3000", "125", "25000", "12"}),
        ("万一下雨，千万不要去", set()),
        ("１２３", {"123"}),
        ("", set()),
    ],
)
def test_numbers_are_read_in_digits_and_in_words(text: str, numbers: set[str]) -> None:
    assert numbers_in(text) == numbers


def test_only_what_is_counted_turns_into_digits() -> None:
    assert in_digits("我们一起在三亚住了五年") == "我们一起在三亚住了5年"

import pytest

from workspaces.index.markers import ASKS, NAMES_TIME, markers_of


@pytest.mark.parametrize(
    "text", ["Where do you keep it?", "Really?!", "钥匙放在哪里？", "好吗？」"]
)
def test_a_text_that_ends_in_a_question_asks(text: str) -> None:
    assert ASKS in markers_of(text)


@pytest.mark.parametrize("text", ["Where? In the cellar.", "问过吗？问过了。", ""])
def test_a_text_that_ends_in_a_statement_does_not_ask(text: str) -> None:
    assert ASKS not in markers_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "We moved last week.",
        "I signed it two days ago.",
        "It opens on Friday.",
        "Since 2021 it is ours.",
        "We met in May.",
        "上周搬了家。",
        "3月5日签的合同。",
        "两年前买的。",
        "周五开门。",
    ],
)
def test_a_text_that_says_when_is_marked(text: str) -> None:
    assert NAMES_TIME in markers_of(text)


@pytest.mark.parametrize("text", ["You may march on.", "It lasts.", "第二次世界", "他很高兴。"])
def test_words_that_only_look_like_times_are_not_marked(text: str) -> None:
    assert NAMES_TIME not in markers_of(text)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holamem.text.tokens import count_tokens, truncate


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("a" * 40, 11), ("字" * 10, 11), ("字" * 10 + "a" * 40, 22)],
)
def test_tokens_are_estimated_and_rounded_up(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(st.text(max_size=300), st.integers(min_value=-1, max_value=60))
def test_a_truncated_text_is_a_prefix_within_the_budget(text: str, budget: int) -> None:
    cut = truncate(text, budget)
    assert text.startswith(cut)
    assert count_tokens(cut) <= max(budget, 0)


def test_a_text_that_fits_is_returned_as_it_is() -> None:
    assert truncate(" 支付网关上线了。 ", 50) == " 支付网关上线了。 "


def test_the_cut_is_made_at_a_sentence_when_one_ends_late_enough() -> None:
    text = "今天完成了支付网关的升级。明天我们开始写文档和测试用例"
    assert truncate(text, 20) == "今天完成了支付网关的升级。"


def test_without_a_sentence_the_cut_is_made_between_words() -> None:
    assert truncate("alpha beta gamma delta epsilon", 5) == "alpha beta gamma"


def test_a_family_emoji_is_kept_or_dropped_as_a_whole() -> None:
    family = "👨‍👩‍👧‍👦"
    assert set(truncate(family * 20, 20).split(family)) == {""}


def test_no_budget_gives_nothing() -> None:
    assert truncate("text", 0) == ""

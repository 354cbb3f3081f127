import pytest
from hypothesis import given
from hypothesis import strategies as st

from holamem.text.sentences import split_sentences

ALPHABET = st.text(st.sampled_from('ab Z1.!?。！；"”)\n\r|-`#字 '), max_size=200)


def split(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]


@given(st.one_of(ALPHABET, st.text(max_size=100)))
def test_spans_are_ordered_and_cover_all_that_is_not_space(text: str) -> None:
    spans = split_sentences(text)
    position = 0
    for span in spans:
        assert span.start < span.end
        assert not text[position : span.start].strip()
        position = span.end
    assert not text[position:].strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天升级完成。明天继续！好吗？", ["今天升级完成。", "明天继续！", "好吗？"]),
        ("“真的吗？”他问。", ["“真的吗？”", "他问。"]),
        ("先备份；再升级", ["先备份；", "再升级"]),
        ("版本v2.3已发布。Next!好", ["版本v2.3已发布。", "Next!", "好"]),
    ],
)
def test_chinese_and_mixed_sentences(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith paid $3.50 for v2.3.1 at https://x.io/a.b?c=1 today.",
        "See e.g. main.py and U.S. law.",
        "J. Doe wrote No. 5 on Jan. 7.",
        "Wait... what happened?",
        "1. First item",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_it(text: str) -> None:
    assert split(text) == [text]


def test_words_that_look_like_abbreviations_end_sentences() -> None:
    assert split("Is it? No. He sat. So did I. Then we left.") == [
        "Is it?",
        "No.",
        "He sat.",
        "So did I.",
        "Then we left.",
    ]


def test_list_items_and_headings_end_with_their_line() -> None:
    assert split("# Title\n- one\n- two\n\nText") == ["# Title", "- one", "- two", "Text"]


def test_a_soft_wrap_does_not_end_a_sentence() -> None:
    assert split("The gateway\nis down.\r\nBob knows.") == ["The gateway\nis down.", "Bob knows."]


def test_code_and_tables_stay_whole() -> None:
    code = "```py\nx = 1. \n\ny = 2!\n```"
    table = "|a|b|\n|-|-|\n|1. x|2! y|"
    assert split(f"Before.\n{code}\n{table}\n\nAfter.") == ["Before.", code, table, "After."]


@pytest.mark.parametrize("text", ["", " \n ", "\u3000"])
def test_blank_text_has_no_sentences(text: str) -> None:
    assert split_sentences(text) == []

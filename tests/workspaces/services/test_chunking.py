import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holamem.text.graphemes import is_boundary
from workspaces.services.chunking import HARD_CAP, ONE_CHUNK_BELOW, split_text

SENTENCE_ZH = "我们今天决定把支付网关升级到新版本，由小明负责上线。"
SENTENCE_EN = "We decided to upgrade the payment gateway, and Bob owns the rollout. "
PIECES = [
    SENTENCE_ZH * 5,
    SENTENCE_EN * 4,
    "\n\n",
    "\r\n",
    "# Heading\n",
    "- item one\n- item two\n",
    "```py\n" + "x = 1\n" * 40 + "```\n",
    "|a|b|\n|-|-|\n" + "|1|2|\n" * 30,
    "👨‍👩‍👧‍👦" * 60,
    "y" * 700,
    "\u3000 ",
]


def assert_is_a_split_of(text: str) -> None:
    spans = split_text(text)
    position = 0
    for span in spans:
        assert not text[position : span.start].strip()
        assert 0 < span.end - span.start <= HARD_CAP
        assert is_boundary(text, span.start, floor=position)
        assert is_boundary(text, span.end, floor=span.start)
        position = span.end
    assert not text[position:].strip()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14))
def test_chunks_are_ordered_and_cover_the_text_between_graphemes(pieces: list[str]) -> None:
    assert_is_a_split_of("".join(pieces))


@pytest.mark.parametrize("sentence", [SENTENCE_ZH, SENTENCE_EN])
def test_a_short_text_is_one_chunk(sentence: str) -> None:
    text = (sentence * 60)[: ONE_CHUNK_BELOW - 1]
    assert [(span.start, span.end) for span in split_text(text)] == [(0, len(text.rstrip()))]


@pytest.mark.parametrize("text", ["", " \n", "\u200b" * 5_000])
def test_a_blank_text_has_no_chunks(text: str) -> None:
    assert split_text(text) == []


@pytest.mark.parametrize("sentence", [SENTENCE_ZH, SENTENCE_EN.strip() + " "])
def test_long_prose_is_cut_where_sentences_end(sentence: str) -> None:
    text = sentence * 200
    chunks = [text[span.start : span.end] for span in split_text(text)]
    assert len(chunks) > 3
    assert all(chunk.endswith((".", "。")) for chunk in chunks)
    assert all(len(chunk) >= 500 for chunk in chunks[:-1])


@pytest.mark.parametrize(
    "block",
    [
        "```py\n" + "print('支付')\n\n" * 110 + "```",
        "| a | b |\n|---|---|\n" + "| 支付 | x. y! |\n" * 100,
    ],
)
def test_code_and_tables_stay_whole_when_they_fit(block: str) -> None:
    text = f"{SENTENCE_EN * 10}\n\n{block}\n\n{SENTENCE_ZH * 30}"
    assert ONE_CHUNK_BELOW < len(block.strip()) <= HARD_CAP
    assert block.strip() in [text[span.start : span.end] for span in split_text(text)]


def test_an_over_long_code_block_is_cut_between_lines() -> None:
    text = "```\n" + "value = compute(1)\n" * 300 + "```"
    chunks = [text[span.start : span.end] for span in split_text(text)]
    assert all(chunk.endswith((")", "```")) for chunk in chunks)
    assert_is_a_split_of(text)


def test_a_heading_stays_with_what_follows_it() -> None:
    text = "".join(f"## Part {n}\n\n{SENTENCE_EN * 12}\n\n" for n in range(6))
    chunks = [text[span.start : span.end] for span in split_text(text)]
    assert all(chunk.startswith("## Part") for chunk in chunks)


def test_a_flood_of_combining_marks_is_still_cut_under_the_cap() -> None:
    spans = split_text("e" + "\u0301" * 10_000)
    assert max(span.end - span.start for span in spans) <= HARD_CAP


def test_a_lone_surrogate_does_not_break_the_splitter() -> None:
    assert_is_a_split_of("\ud800" + SENTENCE_ZH * 100)


@pytest.mark.parametrize("unit", ["a", "支付网关", "[", "*a ", "a.", "x\n", "```\n", "|-\n", "🇨🇳"])
def test_hostile_text_is_cut_quickly(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    start = time.process_time()
    assert_is_a_split_of(text)
    assert time.process_time() - start < 4

"""Recalled text is recognised in whole and in pieces, and only that."""

import json

import pytest

from workspaces.recall_mark import close_fence, is_recalled_span, open_fence

FACT = "The Atlas gateway listens on port 8443."
FENCED = f"{open_fence('a1')}\n- {FACT} [E1]\n{close_fence('a1')}"


def is_recalled(text: str, part: str) -> bool:
    start = text.index(part)
    return is_recalled_span(text, start=start, end=start + len(part))


def test_a_piece_inside_a_fence_is_recalled() -> None:
    assert is_recalled(f"Before.\n{FENCED}\nAfter.", FACT)


def test_what_stands_around_a_fence_is_not() -> None:
    text = f"Mara owns it.\n{FENCED}\nBen tests it."
    assert not is_recalled(text, "Mara owns it.")
    assert not is_recalled(text, "Ben tests it.")


def test_a_fence_without_an_end_goes_on_to_the_end() -> None:
    assert is_recalled(f"{open_fence('a1')}\n- Something.\n- {FACT}", FACT)


def test_a_second_fence_is_found() -> None:
    assert is_recalled(f"{FENCED}\nBetween.\n{FENCED.replace('8443', '9000')}", "9000")


@pytest.mark.parametrize("wrap", [json.dumps, lambda value: json.dumps(json.dumps(value)), str])
def test_a_whole_answer_of_a_retrieval_is_recalled(wrap: object) -> None:
    answer = {"retrieval_id": "x", "retrieval_pack": {}, "evidence": [{"excerpt": FACT}]}
    assert is_recalled(wrap(answer), FACT)  # type: ignore[operator]


def test_speaking_of_the_answers_fields_is_not_an_answer() -> None:
    assert not is_recalled(f"Log the retrieval_id and the retrieval_pack. {FACT}", FACT)

"""The extractive summary: nothing invented, everything cited, within its budget."""

import re
from datetime import timedelta

import pytest

from holamem.text.tokens import count_tokens
from tests.workspaces.judging.contexts import NOW, child
from workspaces.judging.base import ChildView
from workspaces.judging.extractive import summarise

ENGLISH = [
    "The Falcon service listens on port 7000. It is written in Go.",
    "The Falcon service keeps logs for 30 days.",
    "Marta Silva owns the Falcon service.",
    "The Falcon service is deployed on Tuesdays.",
]
CHINESE = ["库存系统的端口是 7000。", "库存系统每晚两点同步。", "王建国负责库存系统。"]


def children(texts: list[str]) -> list[ChildView]:
    return [
        child(f"node-{index}", text, at=NOW + timedelta(days=index))
        for index, text in enumerate(texts)
    ]


def bullets(body: str) -> list[tuple[str, str]]:
    return re.findall(r"^- (.+) \[([^\]]+)\]$", body, re.MULTILINE)


@pytest.mark.parametrize("texts", [ENGLISH, CHINESE])
def test_every_bullet_is_a_sentence_of_the_child_that_it_cites(texts: list[str]) -> None:
    by_id = {view.node_id: view.text for view in children(texts)}
    draft = summarise(tree_title="Falcon", children=children(texts), token_budget=700)
    found = bullets(draft.body)
    assert len(found) == len(draft.body.splitlines())
    assert all(text in by_id[node_id] for text, node_id in found)
    assert {node_id for _, node_id in found} == set(by_id)


def test_bullets_are_told_in_order_of_time() -> None:
    reversed_children = list(reversed(children(ENGLISH)))
    draft = summarise(tree_title="Falcon", children=reversed_children, token_budget=700)
    ids = [node_id for _, node_id in bullets(draft.body)]
    assert ids == sorted(ids)


@pytest.mark.parametrize("budget", [40, 60, 90])
def test_the_budget_is_kept(budget: int) -> None:
    draft = summarise(tree_title="Falcon", children=children(ENGLISH), token_budget=budget)
    assert count_tokens(draft.body) <= budget


def test_one_sentence_remains_whatever_the_budget() -> None:
    draft = summarise(tree_title="Falcon", children=children(ENGLISH), token_budget=1)
    assert len(bullets(draft.body)) == 1


def test_summaries_are_cited_again_by_their_own_id() -> None:
    text = "# Falcon\n\n- The port is 7000. [0190-aaaa]\n- Logs stay for 30 days. [0190-bbbb]"
    draft = summarise(
        tree_title="Falcon", children=[child("upper-1", text, kind="summary")], token_budget=700
    )
    assert bullets(draft.body) == [
        ("The port is 7000.", "upper-1"),
        ("Logs stay for 30 days.", "upper-1"),
    ]


def test_a_repeated_sentence_is_told_once() -> None:
    views = children(["The port is 7000.", "The port is 7000."])
    draft = summarise(tree_title="Falcon", children=views, token_budget=700)
    assert len(bullets(draft.body)) == 1


@pytest.mark.parametrize(
    ("told", "fact"),
    [
        (
            "That's awesome, Caroline! I signed up for a pottery class yesterday. And you?",
            "I signed up for a pottery class yesterday.",
        ),
        ("谢谢你！太棒了。我昨天报了陶艺班。你呢？", "我昨天报了陶艺班。"),
    ],
)
def test_thanks_and_questions_around_a_fact_are_left_out(told: str, fact: str) -> None:
    draft = summarise(tree_title="Mel", children=children([told]), token_budget=700)
    assert [text for text, _ in bullets(draft.body)] == [fact]


def test_praise_alone_is_told_as_it_is() -> None:
    draft = summarise(tree_title="Mel", children=children(["Thanks! Well done!"]), token_budget=700)
    assert len(bullets(draft.body)) == 2


def test_without_text_there_is_no_summary() -> None:
    with pytest.raises(ValueError, match="no text"):
        summarise(tree_title="Falcon", children=[], token_budget=700)

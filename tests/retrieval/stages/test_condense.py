from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid5

from retrieval.stages.condense import (
    BEST_SENTENCES,
    renumbered,
    with_short_summaries,
    without_repeats,
)
from retrieval.stages.excerpts import cut_sentences
from retrieval.types import Hydrated, Ranked
from tests.retrieval.stages.test_subjects import row

SPACE = UUID(int=7)
NOW = datetime(2026, 5, 22, tzinfo=UTC)


def found(text: str, *, kind: str = "leaf", status: str = "active") -> Hydrated:
    node_id = uuid5(SPACE, f"{kind} {text}")
    return Hydrated(
        evidence_id="E1",
        row=replace(row(), node_id=node_id, kind=kind, status=status),
        ranked=Ranked(node_id, kind, 1.0, (1.0,), (None,), ()),
        sentences=cut_sentences(text, units=[[]]),
        excerpt=text,
        span=(0, len(text)),
        shares=(1.0,),
        supports=(1.0,),
        in_time=(True,),
        stale=False,
        freshness="fresh",
    )


def excerpts(items: list[Hydrated]) -> list[str]:
    return [item.excerpt for item in items]


def test_what_a_better_leaf_says_is_not_said_again() -> None:
    first, again = found("Atlas listens on port 8443."), found("Atlas listens on port 8443!")
    other_value = found("Atlas listens on port 9443.")
    former = found("Atlas listens on port 8443 .", status="superseded")

    kept = without_repeats([first, again, other_value, former])

    assert kept == [first, other_value, former]


def test_the_same_is_left_out_in_chinese_but_another_value_is_not() -> None:
    first, again = found("支付网关监听 8443 端口。"), found("支付网关监听 8443 端口")

    assert without_repeats([first, again, found("支付网关监听 9443 端口。")])[1:] == [
        found("支付网关监听 9443 端口。")
    ]


def test_the_best_summary_is_short_and_others_say_only_what_is_new() -> None:
    lines = [f"- Atlas part {n} is ready." for n in range(6)]
    best = found("\n".join(lines), kind="summary")
    second = found("\n".join([lines[5], "- Beacon is new."]), kind="summary")
    third = found(lines[5], kind="summary")
    leaf = found("Atlas part 5 is ready.")

    kept = with_short_summaries([best, second, third, leaf])

    assert len(kept[0].excerpt.splitlines()) == BEST_SENTENCES
    assert excerpts(kept[1:]) == ["Beacon is new.", leaf.excerpt]
    assert [item.evidence_id for item in renumbered(kept)] == ["E1", "E2", "E3"]


def test_summaries_alone_stay_whole() -> None:
    summary = found("\n".join(f"- Atlas part {n} is ready." for n in range(6)), kind="summary")

    assert with_short_summaries([summary]) == [summary]

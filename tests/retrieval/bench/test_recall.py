"""Evidence found on public conversations; the data is not ours and lies elsewhere."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from holamem.sample.conversations import LANGUAGES, turns
from retrieval.bench.broad import broad_questions, measure_broad, sessions_of
from retrieval.bench.datasets import Asked, NoSuchData, load
from retrieval.bench.recall import Outcome, Result, Verdict, ask_all
from retrieval.bench.recall_report import as_grid, measures_of
from retrieval.bench.scoring import area_under_curve, score_ranking
from retrieval.bench.server import own_server

DATA = os.environ.get("HOLAMEM_BENCH_DATA", "")
SESSIONS = {"a": "one", "b": "one", "c": "two", "d": "three"}


def test_a_ranking_is_scored_by_the_evidence_that_it_finds() -> None:
    scores = score_ranking(["c", "a", "a", "d"], gold=frozenset("ab"), session_of=SESSIONS)

    assert scores.recall == (0.0, 0.5, 0.5, 0.5)
    assert scores.hit == (0.0, 1.0, 1.0, 1.0)
    assert scores.mrr == 0.5
    assert scores.ndcg_10 == pytest.approx(0.6309 / 1.6309, abs=1e-3)
    assert (scores.session_hit_1, scores.session_recall_10) == (0.0, 1.0)


def test_nothing_found_scores_nothing() -> None:
    scores = score_ranking([], gold=frozenset("a"), session_of=SESSIONS)

    assert (scores.mrr, scores.ndcg_10, scores.session_hit_1) == (0.0, 0.0, 0.0)


def test_the_area_under_the_curve_counts_ties_half() -> None:
    assert area_under_curve([0.9, 0.8], [0.1, 0.2]) == 1.0
    assert area_under_curve([0.5], [0.5]) == 0.5
    with pytest.raises(ValueError, match="nothing"):
        area_under_curve([], [0.5])


def test_a_data_set_is_read_as_turns_and_questions(tmp_path: Path) -> None:
    told = [
        {
            "tid": 3,
            "message_list": [
                {"mid": 0, "time": "2024年04月01日 周一 08:30", "message": "我要开会。"}
            ],
            "question_list": [
                {"question": "我要做什么？", "target_step_id": [0]},
                {"question": "没有依据？", "target_step_id": [9]},
            ],
        }
    ]
    (tmp_path / "memdaily").mkdir()
    (tmp_path / "memdaily" / "01_simple_events.json").write_text(json.dumps(told))

    [conversation] = load("memdaily", data=tmp_path)

    assert [turn.turn_id for turn in conversation.turns] == ["3:0"]
    assert f"{conversation.ended_at:%Y-%m-%d %H:%M}" == "2024-04-01 08:30"
    [asked] = conversation.questions
    assert (asked.gold, asked.category) == (frozenset({"3:0"}), "simple")


def test_a_missing_data_set_is_named(tmp_path: Path) -> None:
    for name in ("locomo", "memdaily", "madial-zh"):
        with pytest.raises(NoSuchData, match=str(tmp_path)):
            load(name, data=tmp_path)


def _verdicts(*levels: str) -> list[Verdict]:
    scores = {"none": 0.1, "low": 0.4, "medium": 0.6, "high": 0.9}
    return [Verdict(scores[level], level, 100) for level in levels]


def test_a_set_is_reported_by_category_with_its_abstention_and_reliability() -> None:
    asked = Asked("Which port?", frozenset("a"), "single-hop")
    other = replace(asked, category="multi-hop")
    hit = score_ranking(["a"], gold=asked.gold, session_of=SESSIONS)
    miss = score_ranking(["c"], gold=asked.gold, session_of=SESSIONS)
    [verdict] = _verdicts("high")
    outcome = Outcome(
        results=[Result(asked, hit, verdict), Result(other, miss, verdict)],
        own=_verdicts("high", "high", "low"),
        foreign=_verdicts("none", "none", "low"),
    )

    measures = measures_of("locomo", outcome, is_whole=True)

    by_name = {measure.name: measure for measure in measures}
    assert by_name["locomo | all | R@10"].value == 50
    assert by_name["locomo | all | R@10"].is_missed
    assert by_name["locomo | single-hop | R@10"].value == 100
    assert by_name["locomo | abstention | AUC foreign"].value == pytest.approx(0.944, abs=1e-3)
    assert by_name["locomo | coverage high, against foreign | answerable"].value == 100
    assert by_name["locomo | coverage low, against foreign | answerable"].value == 50
    assert "locomo | coverage medium, against foreign | answerable" not in by_name
    assert "multi-hop" in as_grid(measures)
    assert not any(m.is_missed for m in measures_of("locomo", outcome, is_whole=False))


def test_the_broad_questions_name_sessions_of_the_sample() -> None:
    for language in LANGUAGES:
        sessions = {turn.fields["session"] for turn in turns(language)}
        asked = broad_questions(language)
        assert len(asked) >= 20
        assert all(question.sessions and question.sessions <= sessions for question in asked)


def test_a_summary_speaks_of_the_sessions_whose_turns_it_repeats() -> None:
    told = {turn.fields["session"]: turn.fields for turn in turns("en") if turn.is_durable}
    first, second = list(told.values())[:2]
    summary = {"node_kind": "summary", "sources": [], "excerpt": second["text"]}
    source = {"occurred_at": first["occurred_at"]}
    leaf = {"node_kind": "leaf", "sources": [source], "excerpt": first["text"]}

    found = sessions_of({"evidence": [summary, leaf]}, language="en")

    assert list(found) == [second["session"], first["session"]]


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="HOLAMEM_BENCH_DATA names no data folder")
def test_chinese_conversations_give_back_their_evidence() -> None:
    """The plain baseline on the whole set reaches 72.6 (words and vectors) at ten."""
    conversations = load("memdaily", data=Path(DATA))[::40]
    with own_server(sample="none") as target:
        outcome = ask_all(target, conversations=conversations)
        broad = measure_broad(target)

    measures = measures_of("memdaily", outcome, is_whole=False)
    by_name = {measure.name: measure.value for measure in [*measures, *broad]}
    assert by_name["memdaily | all | R@10"] >= 75
    assert by_name["memdaily | all | session R@10"] >= 95
    assert by_name["memdaily | abstention | foreign questions"] > 0
    for language in LANGUAGES:
        first, leaves = (f"broad | {language}, {kind} first" for kind in ("summaries", "leaves"))
        # Not worse, but for one session of one question.
        assert by_name[f"{first} | session R@5"] >= by_name[f"{leaves} | session R@5"] - 2
        assert by_name[f"{first} | tokens returned"] < by_name[f"{leaves} | tokens returned"]

"""Evidence found on public conversations; the data is not ours and lies elsewhere."""

import json
import os
from pathlib import Path

import pytest

from retrieval.bench.datasets import NoSuchData, load
from retrieval.bench.recall import measure_recall
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


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="HOLAMEM_BENCH_DATA names no data folder")
def test_chinese_conversations_give_back_their_evidence() -> None:
    """The plain baseline on the whole set reaches 72.6 (words and vectors) at ten."""
    conversations = load("memdaily", data=Path(DATA))[::40]
    with own_server(sample="none") as target:
        measures = measure_recall(target, conversations=conversations)

    by_name = {measure.name: measure.value for measure in measures}
    assert by_name["all R@10"] >= 75
    assert by_name["all session R@10"] >= 95
    assert by_name["foreign questions"] > 0

import pytest

from retrieval.stages.calibration import LOW_BELOW, level_of, with_agreement


def test_agreement_of_words_and_meaning_moves_the_score_within_its_side_of_the_floor() -> None:
    weak, strong = 1.0, 3.0

    for score in (0.1, 0.45, 0.55, 0.95):
        lower = with_agreement(score, language="en", agreement=weak)
        higher = with_agreement(score, language="en", agreement=strong)
        assert lower <= score <= higher
        assert lower < higher
        assert {lower >= LOW_BELOW, higher >= LOW_BELOW} == {score >= LOW_BELOW}
        assert level_of(round(higher, 4)) == level_of(higher)


@pytest.mark.parametrize("score", [0.0, 0.3, 0.8, 1.0])
def test_it_says_nothing_of_chinese_questions(score: float) -> None:
    assert with_agreement(score, language="zh", agreement=3.0) == score

"""Text memory costs a fraction of putting everything into each prompt, with the same facts."""

import pytest

from agents.bench.text_memory import facts, play_week


@pytest.mark.parametrize(("by_place", "topics"), [(False, 24), (True, 72)])
def test_text_memory_costs_less_than_a_quarter_and_reaches_every_fact(
    by_place: bool, topics: int
) -> None:
    cost = play_week(sessions=40, by_place=by_place)
    known = facts(by_place=by_place)
    assert (len(known), len({fact.topic for fact in known})) == (864, topics)
    assert cost.asked > 50
    assert cost.reached == cost.asked
    assert cost.share < 0.25

"""Text memory costs a fraction of putting everything into each prompt, with the same facts."""

from agents.bench.text_memory import facts, play_week


def test_text_memory_costs_less_than_a_quarter_and_reaches_every_fact() -> None:
    cost = play_week(sessions=40)
    assert len(facts()) == 864
    assert cost.asked > 50
    assert cost.reached == cost.asked
    assert cost.share < 0.25

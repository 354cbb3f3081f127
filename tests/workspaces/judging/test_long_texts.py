"""No text of a chunk's size makes the rules' patterns run away."""

import time

import pytest

from tests.workspaces.judging.contexts import candidate, chunk, leaf
from workspaces.judging.offline import OfflineJudge

# Each takes well under a second; a pattern that backtracks without end takes for ever.
SECONDS = 5


@pytest.mark.parametrize(
    "unit",
    [
        "hey ",
        "a",
        "汉",
        "之后",
        "我们我",
        "把将让",
        "昨天今天",
        "on monday in a ",
        "A ",
        "a-",
        "一二三",
    ],
)
def test_a_repeated_unit_is_judged_in_bounded_time(unit: str) -> None:
    text = (unit * 2000)[:2000]
    context = chunk(text, actor="Ana")
    started = time.monotonic()
    judge = OfflineJudge()
    judge.admit(context)
    judge.assign(context, candidates=[candidate("Falcon"), candidate("库存系统")])
    judge.compare(context, subject_key="a|b", leaves=[leaf(text + " 3")])
    assert time.monotonic() - started < SECONDS

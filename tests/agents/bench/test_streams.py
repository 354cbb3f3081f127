"""The measurement of streams measures what it says."""

import pytest

from agents.bench.streams import Plan, measure_streams
from retrieval.bench.server import Target
from tests.api.client import new_side

pytestmark = pytest.mark.slow


def test_every_follower_is_counted_and_a_session_is_replayed_whole(web_url: str) -> None:
    side = new_side()
    target = Target(web_url, str(side.caller.token), side.workspace.slug)
    plan = Plan(streams=20, seconds=1, per_second=10, replayed=30)
    measures = {one.name: one for one in measure_streams(target, plan=plan)}
    assert measures["deliveries_lost"].value == 0
    assert 0 < measures["delivery_p50"].value <= measures["delivery_p95"].value
    assert measures["replay"].value > 0
    assert list(measures) == [
        "delivery_p50", "delivery_p95", "deliveries_lost", "streams_added", "replay",
        "replay_added",
    ]  # fmt: skip

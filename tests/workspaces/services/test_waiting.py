"""Who waits for results leaves threads to others."""

from uuid import uuid4

import pytest

from tests.api.client import event_body, new_side
from workspaces.services import waiting
from workspaces.services.waiting import WaitingPlaces


def test_one_tenant_takes_half_of_the_threads_and_all_leave_a_quarter() -> None:
    places, mine, theirs, third = WaitingPlaces(threads=4), uuid4(), uuid4(), uuid4()
    with places.place(mine) as first, places.place(mine) as second, places.place(mine) as over:
        assert (first, second, over) == (True, True, False)
        with places.place(theirs) as other, places.place(third) as beyond:
            assert (other, beyond) == (True, False)
        with places.place(third) as again:
            assert again
    with places.place(mine) as free:
        assert free


def test_without_a_place_a_waiting_request_is_answered_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    side, places = new_side(), WaitingPlaces(threads=1)
    monkeypatch.setattr(waiting, "places", places)
    with places.place(side.tenant.id):
        answer = side.caller.post(f"{side.base}/events?wait=true&timeout_s=60", event_body())
    assert (answer.status_code, answer.json()["status"]) == (202, "processing")

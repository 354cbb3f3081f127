"""Cursor pages: complete, in order, and bound to the list that they came from."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.api.client import Side, codes, event_body, new_side


@pytest.fixture
def five(side: Side) -> Side:
    events = [event_body(f"Fact number {n}.", session=f"s{n % 2}") for n in range(5)]
    side.caller.post(f"{side.base}/events:batch", {"events": events})
    return side


def page(side: Side, address: str) -> tuple[list[str], str | None, str | None]:
    body = side.caller.get(address).json()
    assert set(body) == {"results", "next", "previous"}
    return [event["event_id"] for event in body["results"]], body["next"], body["previous"]


def below(address: str | None) -> str:
    """The address of a link as the test client takes it."""
    assert address is not None
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


def test_pages_follow_each_other_without_loss_and_lead_back(five: Side) -> None:
    everything, nothing, _ = page(five, f"{five.base}/events")
    assert nothing is None
    first, after, before = page(five, f"{five.base}/events?limit=2")
    assert before is None
    second, after, before = page(five, below(after))
    third, end, _ = page(five, below(after))
    assert first + second + third == everything
    assert end is None
    assert page(five, below(before))[0] == first


def test_what_arrives_while_paging_moves_nothing(five: Side) -> None:
    first, after, _ = page(five, f"{five.base}/events?limit=2")
    five.caller.post(f"{five.base}/events", event_body("A later fact."))
    second, _, _ = page(five, below(after))
    assert not set(first) & set(second)


def test_a_cursor_fits_only_its_own_list(five: Side) -> None:
    _, after, _ = page(five, f"{five.base}/events?limit=2")
    cursor = parse_qs(urlsplit(str(after)).query)["cursor"][0]
    other = new_side(five.workspace.slug)
    for side, path in (
        (five, f"jobs?cursor={cursor}"),
        (five, f"events?session=s1&cursor={cursor}"),
        (other, f"events?cursor={cursor}"),
    ):
        refused = side.caller.get(f"{side.base}/{path}")
        assert refused.status_code == 400
        assert codes(refused) == {"cursor": "invalid_cursor"}


def test_a_filter_stays_on_the_next_page(five: Side) -> None:
    first, after, _ = page(five, f"{five.base}/events?session=s0&limit=2")
    second, end, _ = page(five, below(after))
    assert (len(first), len(second), end) == (2, 1, None)


def test_workspaces_are_paged_by_slug(side: Side) -> None:
    for slug in ("zebra", "alpha"):
        made = side.caller.post("workspaces", {"slug": slug, "name": slug})
        assert made.status_code == 201
    first = side.caller.get("workspaces?limit=2").json()
    rest = side.caller.get(below(first["next"])).json()
    slugs = [row["slug"] for row in first["results"] + rest["results"]]
    assert slugs == sorted(slugs) == ["alpha", "notes", "zebra"]
    assert side.caller.get(below(rest["previous"])).json()["results"] == first["results"]

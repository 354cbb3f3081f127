"""Statements with named places, as the server takes them."""

import pytest

from holamem.database.prepared import fetch_dicts, fetch_rows, numbered


def test_places_are_numbered_by_their_first_use() -> None:
    statement = "SELECT %(b)s, %(a)s, %(b)s, 'all of it: 100%%'"
    assert numbered(statement) == (b"SELECT $1, $2, $1, 'all of it: 100%'", ("b", "a"))


@pytest.mark.django_db
def test_a_name_may_occur_twice_and_a_value_may_have_no_place() -> None:
    values = {"word": "门", "number": 7, "unused": object()}
    statement = "SELECT %(word)s::text || %(word)s::text AS twice, %(number)s::int AS number"
    assert fetch_rows(statement, values) == [("门门", 7)]
    assert fetch_dicts(statement, values) == [{"twice": "门门", "number": 7}]

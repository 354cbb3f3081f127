import re

import pytest
from django.db import connection

from holamem.text.tsvector import frequencies, to_tsquery_literal, to_tsvector_literal


def test_repeated_terms_gather_their_positions_and_extras_have_none() -> None:
    literal = to_tsvector_literal([("网关", 1), ("api", 2), ("网关", 5)], extra=["§scope"])
    assert literal == "'§scope' '网关':1,5 'api':2"


def test_quotes_and_backslashes_are_doubled() -> None:
    assert to_tsvector_literal([("a'b\\", 1)]) == "'a''b\\\\':1"
    assert to_tsquery_literal(["a'b\\"], all_of=["§'"]) == "'§''' & ('a''b\\\\')"


def test_positions_stay_within_the_limits_of_the_server() -> None:
    literal = to_tsvector_literal([("x", n * 100) for n in range(1, 400)])
    positions = [int(n) for n in re.findall(r"\d+", literal)]
    assert len(positions) <= 255
    assert max(positions) <= 16_383


def test_a_huge_vector_stays_under_a_million_bytes() -> None:
    literal = to_tsvector_literal([(f"{n}{'字' * 600}", n) for n in range(4_000)], extra=["§s"])
    assert literal.startswith("'§s' ")
    assert 500_000 < len(literal.encode()) < 1_000_000


def test_lexemes_that_the_server_refuses_are_left_out() -> None:
    assert to_tsvector_literal([("", 1), ("x" * 3_000, 2), ("ok", 3)]) == "'ok':3"


def test_a_query_needs_all_of_one_group_and_any_of_the_other() -> None:
    assert to_tsquery_literal(["a", "b", "a"], all_of=["s", "t"]) == "'s' & 't' & ('a' | 'b')"


def test_a_lone_chinese_character_is_looked_for_at_the_start_of_bigrams() -> None:
    assert to_tsquery_literal(["猫", "网关"]) == "('猫':* | '网关')"


def test_a_query_without_terms_matches_nothing() -> None:
    assert to_tsquery_literal([], all_of=["scope"]) == ""


@pytest.mark.django_db(transaction=True)
def test_frequencies_are_read_from_what_the_server_writes() -> None:
    texts = ["猫", "猫窝", "a'b\\", "x 'cat", "cat", "3.0", "a b"]
    terms = [(text, n) for n, text in enumerate(texts * 3, 1)] + [("x", 900), ("cat':9", 901)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT (%s::tsvector)::text", [to_tsvector_literal(terms, extra=["§s"])])
        [stored] = cursor.fetchone() or ()
    asked = ["猫", "猫窝", "a'b\\", "cat", "3.0", "b", "§s", "x", "absent"]
    assert frequencies(asked)(stored) == (6, 3, 3, 3, 3, 0, 0, 1, 0)


def test_what_need_not_be_read_holds_no_term() -> None:
    assert frequencies(["cat"])(None) == (0,)
    assert frequencies([])("'cat':1") == ()

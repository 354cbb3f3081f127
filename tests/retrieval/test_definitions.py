from typing import Any

import pytest

from holamem.errors import InvalidInput
from retrieval.definitions import parse_browse, parse_request


def test_only_the_query_is_required() -> None:
    request = parse_request({"query": "Which port?"})

    assert request.max_results == 12
    assert request.include_leaves
    assert request.include_summaries
    assert not request.include_superseded
    assert request.category_filter is None


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": " \u200b\n"}, "query"),
        ({"query": "a\x00b"}, "query"),
        ({"query": "a\ud800b"}, "query"),
        ({"query": "x" * 4001}, "query"),
        ({"query": "q", "limit": 3}, "limit"),
        ({"query": "q", "max_results": 0}, "max_results"),
        ({"query": "q", "max_results": 51}, "max_results"),
        ({"query": "q", "max_results": "5"}, "max_results"),
        ({"query": "q", "max_results": True}, "max_results"),
        ({"query": "q", "token_budget": 10**20}, "token_budget"),
        ({"query": "q", "mode": "fast"}, "mode"),
        ({"query": "q", "categories": ["people"]}, "categories.0"),
        ({"query": "q", "now": "2026-05-20T09:00:00"}, "now"),
        ({"query": "q", "as_of": "0001-01-01T00:00:00+14:00"}, "as_of"),
        ({"query": "q", "timezone": "Mars/Olympus"}, "timezone"),
        ({"query": "q", "time_range": {"from": "2026-05-20"}}, "time_range.from"),
        (
            {
                "query": "q",
                "time_range": {"from": "2026-05-21T00:00:00Z", "to": "2026-05-20T00:00:00Z"},
            },
            "time_range",
        ),
        ({"query": "q", "tree_id": "a", "tree_ids": ["b"]}, "body"),
        ({"query": "q", "labels": ["x"] * 101}, "labels"),
    ],
)
def test_a_wrong_field_is_named(data: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_request(data)

    assert refused.value.field == field
    assert refused.value.detail["errors"][0]["field"] == field


def test_an_empty_list_is_kept_apart_from_no_list() -> None:
    assert parse_request({"query": "q", "categories": []}).category_filter == []
    assert parse_request({"query": "q", "tree_ids": []}).tree_filter == []
    assert parse_request({"query": "q"}).tree_filter is None


def test_browse_takes_the_text_of_a_query_string() -> None:
    request = parse_browse({"path": "interaction", "depth": "2", "limit": "10"})

    assert (request.depth, request.limit) == (2, 10)


@pytest.mark.parametrize(
    "data",
    [
        {"depth": 4},
        {"limit": 101},
        {"node_id": "12"},
        {"path": "interaction", "node_id": "01890000-0000-7000-8000-000000000000"},
        {"file": "/etc/passwd"},
    ],
)
def test_a_wrong_browse_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        parse_browse(data)

"""Whole kinds of bad input, over every endpoint that takes them: 4xx with a name, never 500."""

from typing import Any

import pytest

from tests.api.client import Caller, Side, codes, event_body, new_side

BASE = "workspaces/notes"
GOOD: dict[str, dict[str, Any]] = {
    f"{BASE}/events": event_body(),
    f"{BASE}/events:batch": {"events": [event_body()]},
    "workspaces": {"slug": "other", "name": "Other"},
    f"{BASE}/memory/retrieve": {"query": "Who owns the Atlas gateway?"},
    f"{BASE}/sessions": {"title": "Atlas"},
}
LISTS = [
    "workspaces",
    f"{BASE}/events",
    f"{BASE}/trees",
    f"{BASE}/entities",
    f"{BASE}/jobs",
    f"{BASE}/gaps",
    f"{BASE}/sessions",
    f"{BASE}/text-memory",
]
RAW = {
    "empty": (b"", 400),
    "not json": (b"{", 400),
    "list": (b"[]", 400),
    "null": (b"null", 400),
    "deep": (b'{"a": ' * 2000 + b"1" + b"}" * 2000, 400),
    "duplicate": (b'{"text": "a", "text": "b"}', 400),
    "NaN": (b'{"text": NaN}', 400),
    "huge integer": (b'{"text": ' + b"9" * 5000 + b"}", 400),
    "null character": (rb'{"text": "\u0000"}', 400),
    "null character in a key": (rb'{"\u0000": "a"}', 400),
    "surrogate": (rb'{"text": "\ud800"}', 400),
    "surrogate in a key": (rb'{"\ud800": "a"}', 400),
    "byte order mark": (b"\xef\xbb\xbf{}", 400),
    "latin-1": (b'{"text": "\xe9"}', 400),
    "utf-16": ('{"text": "a"}'.encode("utf-16-le"), 400),
    "9 MB": (b'{"text": "' + b"a" * (9 * 1024 * 1024) + b'"}', 413),
}


@pytest.fixture(scope="module")
def world(django_db_setup: None) -> Side:
    return new_side()


@pytest.fixture(scope="module")
def caller(world: Side) -> Caller:
    return world.caller


@pytest.mark.parametrize("path", GOOD)
@pytest.mark.parametrize("kind", RAW)
def test_a_body_that_is_no_clean_json_object_is_refused(
    caller: Caller, path: str, kind: str
) -> None:
    raw, status = RAW[kind]
    response = caller.send("POST", path, raw=raw, Content_Type="application/json")
    assert response.status_code == status, response.content
    assert codes(response)


@pytest.mark.parametrize("path", GOOD)
@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "x"],
)
def test_another_content_type_is_415(caller: Caller, path: str, content_type: str) -> None:
    response = caller.send("POST", path, raw=b"a=1", Content_Type=content_type)
    assert response.status_code == 415
    assert codes(response) == {"": "unsupported_media_type"}


@pytest.mark.parametrize("path", GOOD)
def test_a_compressed_body_is_415(caller: Caller, path: str) -> None:
    response = caller.post(path, GOOD[path], Content_Encoding="gzip")
    assert response.status_code == 415


@pytest.mark.parametrize("path", GOOD)
@pytest.mark.parametrize(
    "name", ["workspace_id", "id", "status", "body_path", "body_sha256", "scope_id", "名"]
)
def test_an_unknown_field_is_an_error_with_its_name(caller: Caller, path: str, name: str) -> None:
    response = caller.post(path, {**GOOD[path], name: "x"})
    assert response.status_code == 400
    assert codes(response).get(name) == "unknown_field"


@pytest.mark.parametrize("path", [*LISTS, "me", BASE, f"{BASE}/status"])
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("surprise=1", "unknown_parameter"),
        ("surprise=1&surprise=2", "repeated_parameter"),
        ("surprise=%00", "null_character"),
    ],
)
def test_a_parameter_that_nobody_knows_is_an_error(
    caller: Caller, path: str, query: str, code: str
) -> None:
    response = caller.get(f"{path}?{query}")
    assert response.status_code == 400
    assert codes(response) == {"surprise": code}


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "value", ["-1", "0", "101", "1000000000", "abc", "1.5", "", "１２", "9" * 30, "1e3", " 5"]
)
def test_a_limit_out_of_bounds_is_an_error(caller: Caller, path: str, value: str) -> None:
    response = caller.get(f"{path}?limit={value}")
    assert response.status_code == 400
    assert "limit" in codes(response)


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "cursor", ["x", "a:b:c", "WyJuIiwgIjEiXQ:1abcde:forged", "9" * 40, "x" * 400]
)
def test_a_forged_cursor_is_an_error(caller: Caller, path: str, cursor: str) -> None:
    response = caller.get(f"{path}?cursor={cursor}")
    assert response.status_code == 400
    assert "cursor" in codes(response)


TIMES = {
    "2026-05-20T09:30:00": "timezone_required",
    "2026-05-20 09:30:00.5": "timezone_required",
    "2026-05-20": "invalid_type",
    "2026-02-30T00:00:00Z": "invalid_type",
    "0000-01-01T00:00:00Z": "invalid_type",
    "2016-12-31T23:59:60Z": "invalid_type",
    "9999-12-31T23:59:59-23:59": "invalid_type",
    "2026-05-20T09:30:00+99:00": "invalid_type",
    "２０２６-05-20T09:30:00Z": "invalid_type",
    "infinity": "invalid_type",
    "now": "invalid_type",
    "1900-01-01T00:00:00Z": "too_early",
    "0001-01-01T00:00:00+14:00": "invalid_type",
    "2099-01-01T00:00:00Z": "in_the_future",
}


@pytest.mark.parametrize("value", TIMES)
def test_a_time_that_is_not_one_moment_of_the_past_is_refused(caller: Caller, value: str) -> None:
    response = caller.post(f"{BASE}/events", event_body(occurred_at=value))
    assert response.status_code == 400
    assert codes(response) == {"occurred_at": TIMES[value]}


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t", "\u200b\u200b", "\ufeff", "\u3164", "\u2060 \u00ad"]
)
def test_a_text_that_nobody_sees_is_blank(caller: Caller, text: str) -> None:
    response = caller.post(f"{BASE}/events", event_body(text))
    assert response.status_code == 400
    assert codes(response) == {"text": "blank"}


@pytest.mark.parametrize("letter", ["a", "你"])
def test_a_text_over_a_megabyte_is_413(caller: Caller, letter: str) -> None:
    text = letter * (1_000_001 // len(letter.encode()) + 1)
    alone = caller.post(f"{BASE}/events", event_body(text))
    batch = caller.post(f"{BASE}/events:batch", {"events": [event_body(), event_body(text)]})
    assert (alone.status_code, codes(alone)) == (413, {"text": "text_too_large"})
    assert (batch.status_code, codes(batch)) == (413, {"events[1].text": "text_too_large"})


WRONG = {
    "number": 5,
    "float": 1.5,
    "true": True,
    "null": None,
    "list": [],
    "object": {},
    "list of null": [None],
    "big integer": 2**62,
}
FIELDS = {
    "kind": (),
    "text": (),
    "occurred_at": (),
    "user_id": (),
    "actor": (),
    "session": (),
    "source": (),
    "external_id": (),
    "category": (),
    "provider": (),
    "account": (),
    "admission": (),
    "succeeded": ("true",),
    "evidence_event_ids": ("list",),
    "metadata": ("object",),
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("kind", WRONG)
def test_a_value_of_another_type_is_an_error_of_its_field(
    caller: Caller, field: str, kind: str
) -> None:
    if kind in FIELDS[field]:
        pytest.skip("that is the field's own type")
    response = caller.post(f"{BASE}/events", event_body(**{field: WRONG[kind]}))
    assert response.status_code == 400
    assert {name.split("[")[0] for name in codes(response)} == {field}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "opinion"),
        ("admission", "rejected"),
        ("category", "other"),
        ("actor", "a" * 201),
        ("actor", "a\u202eb"),
        ("actor", "a\x1b[31m"),
        ("session", "a\r\nb"),
        ("external_id", "a" * 301),
        ("evidence_event_ids", ["5"]),
        ("evidence_event_ids", [str(n) for n in range(101)]),
        ("metadata", {"a": "x" * 70_000}),
        ("metadata", {"a": {"b" * 70_000: 1}}),
        ("succeeded", "true"),
    ],
)
def test_a_value_out_of_bounds_is_an_error_of_its_field(
    caller: Caller, field: str, value: Any
) -> None:
    response = caller.post(f"{BASE}/events", event_body(**{field: value}))
    assert response.status_code == 400
    assert {name.split("[")[0] for name in codes(response)} == {field}


@pytest.mark.parametrize("slug", ["", ".", "..", "../x", "a/b", "A", "a b", "-a", "a" * 64, "名"])
def test_a_slug_that_is_no_slug_is_refused(caller: Caller, slug: str) -> None:
    response = caller.post("workspaces", {"slug": slug, "name": "Name"})
    assert response.status_code == 400
    assert set(codes(response)) == {"slug"}


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"seal_threshold": 10**18}, "settings.seal_threshold"),
        ({"seal_threshold": "many"}, "settings.seal_threshold"),
        ({"match_threshold": 1.1}, "settings.match_threshold"),
        ({"time_zone": "Mars/Olympus"}, "settings.time_zone"),
        ({"surprise": 1}, "settings.surprise"),
        ([], "settings"),
    ],
)
def test_a_setting_out_of_its_range_is_named(caller: Caller, settings: Any, field: str) -> None:
    response = caller.post("workspaces", {"slug": "s", "name": "Name", "settings": settings})
    assert response.status_code == 400
    assert set(codes(response)) == {field}


@pytest.mark.parametrize(
    "name", ["%00", "%ed%a0%80", "..", "%2e%2e%2f", "a%20b", "%F0%9F%98%80", "a" * 5000]
)
@pytest.mark.parametrize("rest", ["", "/events", "/trees", "/trees/x", "/status"])
def test_a_strange_workspace_in_the_address_is_a_404(caller: Caller, name: str, rest: str) -> None:
    response = caller.get(f"workspaces/{name}{rest}")
    assert response.status_code == 404
    assert codes(response) == {"": "not_found"}


@pytest.mark.parametrize(
    "key", ["%00", "a%00b", "%0a", "../x", "' OR 1=1--", "%25s", "名", "a" * 3000, "%ff"]
)
def test_a_strange_tree_key_is_a_404(caller: Caller, key: str) -> None:
    assert caller.get(f"{BASE}/trees/{key}").status_code == 404
    assert caller.post(f"{BASE}/trees/{key}:seal").status_code == 404


@pytest.mark.parametrize("bad", ["5", "9" * 30, "not-a-uuid", "%00", "ffffffff"])
@pytest.mark.parametrize("noun", ["events", "leaves", "summaries"])
def test_an_id_that_is_none_is_a_404(caller: Caller, noun: str, bad: str) -> None:
    response = caller.get(f"{BASE}/{noun}/{bad}")
    assert response.status_code == 404
    assert codes(response) == {"": "not_found"}


def test_no_answer_repeats_what_was_sent(caller: Caller) -> None:
    canary = "canary-5f3e"
    response = caller.post(
        f"{BASE}/events", event_body(kind=canary, occurred_at=canary, category=canary)
    )
    assert response.status_code == 400
    assert canary.encode() not in response.content

"""What the one JSON parser refuses, whatever route it serves."""

import json

import pytest

from holamem.http.parsers import MAX_DEPTH, parse_object
from holamem.http.problems import RequestRefused

REFUSED = {
    "empty": (b"", "body_required"),
    "spaces": (b" \n", "body_required"),
    "list": (b"[1]", "object_required"),
    "null": (b"null", "object_required"),
    "string": (b'"text"', "object_required"),
    "number": (b"7", "object_required"),
    "not json": (b"{text: 1}", "malformed_json"),
    "trailing": (b'{"a": 1} {}', "malformed_json"),
    "unterminated": (b'{"a": "', "malformed_json"),
    "raw control character": (b'{"a": "\n"}', "malformed_json"),
    "utf-8 mark": (b'\xef\xbb\xbf{"a": 1}', "byte_order_mark"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "byte_order_mark"),
    "latin-1": (b'{"a": "\xe9"}', "invalid_utf8"),
    "encoded surrogate": (b'{"a": "\xed\xa0\x80"}', "invalid_utf8"),
    "duplicate key": (b'{"a": 1, "a": 2}', "duplicate_key"),
    "inner duplicate": (b'{"a": {"b": 1, "b": 1}}', "duplicate_key"),
    "NaN": (b'{"a": NaN}', "not_a_number"),
    "Infinity": (b'{"a": -Infinity}', "not_a_number"),
    "overflow": (b'{"a": 1e400}', "number_out_of_range"),
    "big integer": (b'{"a": 100000000000000000000}', "number_out_of_range"),
    "5,000 digits": (b'{"a": ' + b"9" * 5000 + b"}", "number_out_of_range"),
    "deep list": (b'{"a": ' + b"[" * 2000 + b"]" * 2000 + b"}", "too_deep"),
    "deep object": (b'{"a": ' * 2000 + b"1" + b"}" * 2000, "too_deep"),
    "a million values": (b'{"a": [' + b"1," * 1_000_000 + b"1]}", "too_many_values"),
    "a million empty lists": (b'{"a": [' + b"[]," * 1_000_000 + b"[]]}", "too_many_values"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_ambiguous_or_excessive_body_is_refused(kind: str) -> None:
    raw, code = REFUSED[kind]
    with pytest.raises(RequestRefused) as refused:
        parse_object(raw)
    assert refused.value.problems[0].code == code
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("raw", "path", "code"),
    [
        (rb'{"text": "a\u0000"}', "text", "null_character"),
        (rb'{"metadata": {"a": ["x", "\u0000"]}}', "metadata.a[1]", "null_character"),
        (rb'{"metadata": {"\u0000": 1}}', "metadata.\0", "null_character"),
        (rb'{"text": "\ud800"}', "text", "lone_surrogate"),
        (rb'{"metadata": {"\udfff": 1}}', "metadata.\udfff", "lone_surrogate"),
        ('{"events": [{"text": "a\U000e0041"}]}'.encode(), "events[0].text", "tag_character"),
    ],
)
def test_a_character_that_cannot_be_kept_is_named_with_its_place(
    raw: bytes, path: str, code: str
) -> None:
    with pytest.raises(RequestRefused) as refused:
        parse_object(raw)
    assert (refused.value.problems[0].field, refused.value.problems[0].code) == (path, code)


def test_brackets_commas_and_quotes_inside_of_strings_are_only_text() -> None:
    text = '[{"' * 1000 + "\\" + "," * 500_000
    assert parse_object(_json(text)) == {"text": text}


def test_nesting_up_to_the_limit_is_read() -> None:
    inner = MAX_DEPTH - 1
    raw = b'{"a": ' + b"[" * inner + b"]" * inner + b"}"
    assert "a" in parse_object(raw)


def test_a_subdivision_flag_is_an_ordinary_character() -> None:
    flag = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    assert parse_object(_json(flag)) == {"text": flag}


def _json(text: str) -> bytes:
    return json.dumps({"text": text}, ensure_ascii=False).encode()

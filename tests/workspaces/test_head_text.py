"""What a YAML reader reads back is what was given."""

import pytest
import yaml

from workspaces.head_text import head_text

HEAD: dict[str, object] = {
    "id": "01a22bf1-fb50-75da-b90e-8823589d60f6",
    "no": "no",
    "title": 'He said: "# yes" — 是的，\t{a: [b]}',
    "moment": "2026-11-30T09:40:22+00:00",
    "lines": "one\ntwo\r\n---\n\x85three\u2028four\u2029five\ufeffsix\x7f\x1b\ufffe",
    "spaces": "  both ends  ",
    "empty": "",
    "numbers": [1, -2, 0.5, 1e-05, 1e20, 123456789012345678901234567890],
    "words_like_numbers": ["1e-05", "0x1f", "1_000", "null", "true", "~", "=", "<<"],
    "flags": {"yes": True, "no": False, "none": None},
    "metadata": {
        "": "no name",
        "null": 1,
        "true": 2,
        "id": 3,
        "ids": 4,
        "yes": 5,
        "on": {"deep": [{"x": []}, {}]},
        "键": "值",
        "a: b": "#",
    },
}


@pytest.mark.parametrize("name", list(HEAD))
def test_a_reader_gets_back_what_was_written(name: str) -> None:
    written = head_text({name: HEAD[name]})
    assert written.count("\n") == 1
    assert yaml.safe_load(written) == {name: HEAD[name]}


def test_entries_keep_their_order_and_every_character_comes_back() -> None:
    ranges = (range(0x3100), range(0xD7F0, 0xD800), range(0xE000, 0xE010), range(0xFE00, 0x10100))
    every = {"text": "".join(chr(n) for one in ranges for n in one)}
    assert list(yaml.safe_load(head_text(HEAD))) == list(HEAD)
    assert yaml.load(head_text(every), getattr(yaml, "CSafeLoader", yaml.SafeLoader)) == every


def test_a_key_that_is_too_long_for_a_line_is_written_too() -> None:
    head = {"metadata": {"k" * 2_000: "v"}}
    assert yaml.safe_load(head_text(head)) == head

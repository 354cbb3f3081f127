"""The front matter of a body as YAML text: one line for each entry, its value in flow style.

What any YAML reader reads back is what was given. Written here, since a general YAML writer takes
most of the time in which a body is made.
"""

import json
import re
from collections.abc import Mapping, Sequence

import yaml

LONGEST_KEY = 100  # YAML wants a longer one announced
# What a YAML reader refuses inside a line, folds, or takes for the end of one; JSON escapes the
# signs below the space.
_TO_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WORD = re.compile("[a-z][a-z_]{3,}|id")
_VALUES = frozenset(("true", "false", "null"))  # the shorter ones, as "no", are quoted for it
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _NotPlain(ValueError):
    """A value of a kind, or a key of a length, that is left to the general writer."""


def head_text(front_matter: Mapping[str, object]) -> str:
    """Keys in their order, each line ended; empty for no entries."""
    try:
        return "".join(f"{_key(name)}: {_flow(value)}\n" for name, value in front_matter.items())
    except _NotPlain:
        dumped = yaml.dump(dict(front_matter), Dumper=_Dumper, allow_unicode=True, sort_keys=False)
        return str(dumped)


def _key(name: object) -> str:
    if not isinstance(name, str) or len(name) > LONGEST_KEY:
        raise _NotPlain
    return _text(name)


def _flow(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_flow, value)) + "]"
    raise _NotPlain


def _text(text: str) -> str:
    is_word = _WORD.fullmatch(text) is not None and text not in _VALUES
    return text if is_word else _quoted(text)


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return _TO_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _number(value: float) -> str:
    """YAML 1.1 takes 1e-05 for a word: a number has a point."""
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        raise _NotPlain
    return text if "." in text else text.replace("e", ".0e")

"""Masks keys, tokens and passwords before anything is stored."""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from holamem.text.folding import fold_with_origins
from holamem.text.secret_formats import Finding, find_by_format
from holamem.text.secret_labels import find_by_label, names_secret

IDENTIFIER_DIGITS = 16  # 64 bits: two ids of one workspace do not meet by chance


@dataclass(frozen=True, slots=True)
class MaskedText:
    """``kinds``: what was masked, each once, in order of first appearance; empty if nothing."""

    text: str
    kinds: list[str]


def _mask(kind: str) -> str:
    return f"[masked:{kind}]"


def _without_overlaps(findings: Iterable[Finding]) -> list[Finding]:
    """In order of place. Of two that overlap the one that starts first stays, then the longer."""
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda f: (f.start, -f.end)):
        if not kept or finding.start >= kept[-1].end:
            kept.append(finding)
    return kept


def mask_secrets(text: str) -> MaskedText:
    """The text with each secret replaced by ``[masked:<kind>]``, all else as it was.

    Secrets are looked for in a folded copy, so full-width digits, zero-width characters and
    neighbouring Chinese characters hide nothing. Masking twice changes nothing more.
    """
    if not text:  # most ids and names of an event
        return MaskedText(text, [])
    folded = fold_with_origins(text)
    found = chain(find_by_format(folded.text), find_by_label(folded.text))
    pieces: list[str] = []
    kinds: dict[str, None] = {}
    position = 0
    for finding in _without_overlaps(found):
        start, end = folded.original_range(finding.start, finding.end)
        pieces += [text[position:start], _mask(finding.kind)]
        kinds[finding.kind] = None
        position = end
    return MaskedText("".join([*pieces, text[position:]]), list(kinds))


def mask_identifier(value: str, *, salt: str, limit: int) -> MaskedText:
    """An id with its secrets masked, the same for the same id and another for another one.

    What was masked is told apart by a digest of the whole id that is keyed with `salt`, since ids
    are compared. At most `limit` characters; an id without a secret comes back as it was.
    """
    masked = mask_secrets(value)
    if not masked.kinds:
        return masked
    digest = hmac.new(salt.encode(), value.encode(), "sha256").hexdigest()[:IDENTIFIER_DIGITS]
    head = masked.text[: limit - IDENTIFIER_DIGITS - 1]
    return MaskedText(f"{head}~{digest}", masked.kinds)


def _mask_value(key: str, value: Any, kinds: dict[str, None]) -> Any:
    if isinstance(value, str) and value and names_secret(key):
        # Whole, for what follows a key that was cut off belongs to it too.
        found = mask_secrets(value).kinds or ["secret"]
        kinds.update(dict.fromkeys(found))
        return _mask(found[0])
    # A PIN may come as a number; true and false are settings.
    if isinstance(value, int) and not isinstance(value, bool) and names_secret(key):
        kinds["secret"] = None
        return _mask("secret")
    return _masked(value, kinds)


def _masked(value: Any, kinds: dict[str, None]) -> Any:
    if isinstance(value, str):
        masked = mask_secrets(value)
        kinds.update(dict.fromkeys(masked.kinds))
        return masked.text
    if isinstance(value, list):
        return [_masked(item, kinds) for item in value]
    if isinstance(value, dict):
        return {_masked(key, kinds): _mask_value(key, item, kinds) for key, item in value.items()}
    return value


def mask_json(value: Any) -> tuple[Any, list[str]]:
    """A copy of a JSON value with secrets masked in keys and strings, and the kinds found.

    A string or whole number whose key names a secret ("db_password") is masked whole. Depth is the caller's to
    bound: the walk is recursive.
    """
    kinds: dict[str, None] = {}
    return _masked(value, kinds), list(kinds)

"""Canonical forms of text, used to compare it. Stored text is never changed by these."""

import hashlib
import re
import unicodedata
from functools import lru_cache

# Letters by category that no font draws: a text of these alone is blank to a reader.
INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
# Tag characters may only spell the three flags in common use. Any longer freedom would let a
# writer hide instructions that a model reads and a person does not see.
SUBDIVISION_FLAGS = ("gbeng", "gbsct", "gbwls")

_SURROGATE = re.compile("[\ud800-\udfff]")
_TAG_CHARACTER = re.compile("[\U000e0000-\U000e007f]")
_APOSTROPHES = re.compile("['\u2019\u02bc`\u00b4]")
_SPACE_BESIDE_HAN = re.compile("(?<=[\u3400-\u9fff]) | (?=[\u3400-\u9fff])")
# "C", "C#" and "C++" are three names.
_MEANINGFUL_SIGNS = frozenset("+#")


def _flag_sequence(letters: str) -> str:
    return "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in letters) + "\U000e007f"


_FLAGS = re.compile("|".join(_flag_sequence(letters) for letters in SUBDIVISION_FLAGS))


def _without_format_characters(text: str) -> str:
    if text.isascii():
        return text
    unseen = {ord(c): None for c in set(text) if unicodedata.category(c) == "Cf"}
    return text.translate(unseen) if unseen else text


def normalise(text: str) -> str:
    """NFKC without format characters (category Cf), each run of white space as one space.

    Idempotent. Format characters go first: "e", zero-width space, combining acute has to
    become the one letter that it looks like.
    """
    folded = unicodedata.normalize("NFKC", _without_format_characters(text))
    return " ".join(folded.split())


def fingerprint(text: str) -> str:
    """SHA-256 (64 hex digits) of the normalised text. Case counts: "us" and "US" differ."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()


def _is_invisible(character: str) -> bool:
    return (
        character.isspace()
        or character in INVISIBLE_LETTERS
        or unicodedata.category(character) in ("Cf", "Cc")
    )


def is_blank(text: str) -> bool:
    """True when nothing would be seen: white space, format, control and filler characters."""
    return all(_is_invisible(character) for character in text)


def find_forbidden(text: str) -> str | None:
    """The code of the first rule that the text breaks, or None.

    ``null_character`` (PostgreSQL stores none), ``lone_surrogate`` (has no UTF-8 form),
    ``tag_character`` (invisible text that models read; flags of subdivisions are allowed).
    """
    if "\x00" in text:
        return "null_character"
    if text.isascii():
        return None
    if _SURROGATE.search(text):
        return "lone_surrogate"
    if _TAG_CHARACTER.search(text) and _TAG_CHARACTER.search(_FLAGS.sub("", text)):
        return "tag_character"
    return None


CACHED_NAME_CHARACTERS = 100


def _is_separator(character: str) -> bool:
    return character not in _MEANINGFUL_SIGNS and unicodedata.category(character)[0] in "PZ"


def normalise_name(text: str) -> str:
    """The form in which entity names are compared: case, punctuation and spaces folded.

    Punctuation becomes one space ("v1.0" must not equal "v10"), apostrophes vanish, and spaces
    beside Han characters vanish ("支付 网关" equals "支付网关"). A name of punctuation alone
    keeps it. Homoglyphs of other scripts are not folded: they are other names.
    """
    return _cached_name(text) if len(text) <= CACHED_NAME_CHARACTERS else _fold_name(text)


@lru_cache(maxsize=8192)
def _cached_name(text: str) -> str:
    """Every candidate of every question is compared by the same few names."""
    return _fold_name(text)


def _fold_name(text: str) -> str:
    folded = normalise(normalise(text).casefold())
    bare = _APOSTROPHES.sub("", folded)
    spaced = "".join(" " if _is_separator(c) else c for c in bare)
    return _SPACE_BESIDE_HAN.sub("", " ".join(spaced.split())) or folded

"""Readable, safe slugs from names in any script."""

import hashlib
import re
import unicodedata

from pypinyin import lazy_pinyin

from holamem.text.languages import HAN_RANGES
from holamem.text.normalise import normalise

# Device names that Windows refuses as file names, whatever their extension.
RESERVED = frozenset(
    ["con", "prn", "aux", "nul"] + [f"{port}{n}" for port in ("com", "lpt") for n in range(10)]
)
DIGEST_LENGTH = 8

_HAN_RUN = re.compile(f"[{HAN_RANGES}]+")
_UNSAFE = re.compile("[^a-z0-9]+")
_APOSTROPHES = re.compile("['\u2019]")


def _with_pinyin(text: str) -> str:
    # "ignore" drops characters that have no known reading; the digest covers a name of those.
    return _HAN_RUN.sub(lambda run: f" {' '.join(lazy_pinyin(run[0], errors='ignore'))} ", text)


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def _shortened(slug: str, max_length: int) -> str:
    """Cut at a dash when one stands in the second half, so that syllables stay whole."""
    if len(slug) <= max_length:
        return slug
    dash = slug.rfind("-", 0, max_length + 1)
    return slug[: dash if dash > max_length // 2 else max_length].strip("-")


def slugify(name: str, *, max_length: int = 60) -> str:
    """A slug that matches ``^[a-z0-9][a-z0-9-]*$``, at most ``max_length`` (>= 12) characters.

    Han becomes pinyin, accents are dropped. What leaves nothing (other scripts, punctuation,
    empty names) becomes "e-" and eight hex digits of the name's hash. Not unique: the caller
    adds a suffix on collision.
    """
    plain = _APOSTROPHES.sub("", normalise(name).casefold())
    latin = _without_accents(_with_pinyin(plain)).casefold()
    slug = _shortened(_UNSAFE.sub("-", latin).strip("-"), max_length)
    if not slug:
        slug = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]
        return f"e-{slug}"
    return f"e-{slug}" if slug in RESERVED else slug

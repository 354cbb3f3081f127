"""Where a text may be cut without breaking a character as a reader sees it."""

import unicodedata

_JOINER = "\u200d"
_MARKS = ("Mn", "Me", "Mc")
_VIRAMA_CLASS = 9


def _is_extending(character: str) -> bool:
    """Characters that belong to the one before: marks, joiners, skin tones, tags, jamo."""
    return (
        character in (_JOINER, "\u200c")
        or unicodedata.category(character) in _MARKS
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
        or "\u1160" <= character <= "\u11ff"
        or "\ud7b0" <= character <= "\ud7ff"
    )


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _splits_flag(text: str, index: int, floor: int) -> bool:
    """Flags are pairs of regional indicators, so the parity of the run before decides."""
    if not (_is_regional(text[index]) and _is_regional(text[index - 1])):
        return False
    start = index
    while start > floor and _is_regional(text[start - 1]):
        start -= 1
    return (index - start) % 2 == 1


def is_boundary(text: str, index: int, *, floor: int = 0) -> bool:
    """Whether cutting before ``text[index]`` keeps every grapheme cluster whole.

    Stricter than UAX 29 where that is simpler: it may refuse a cut, it never breaks a cluster.
    ``floor`` is a known boundary at which looking back may stop.
    """
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before < "\u0300" and after < "\u0300":
        return not (before == "\r" and after == "\n")
    joined = before == _JOINER or unicodedata.combining(before) == _VIRAMA_CLASS
    leading_jamo = "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97f"
    jamo = leading_jamo and unicodedata.category(after) == "Lo"
    return not (_is_extending(after) or joined or jamo or _splits_flag(text, index, floor))


def boundary_before(text: str, index: int, *, floor: int = 0) -> int:
    """The last boundary in ``floor < position <= index``; ``floor``, itself one, if none is."""
    position = min(index, len(text))
    while position > floor and not is_boundary(text, position, floor=floor):
        position -= 1
    return max(position, floor)

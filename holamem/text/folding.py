"""A copy of a text for pattern matching, with the way back to the original's offsets."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FoldedText:
    """``text`` is the copy; its character ``i`` came from the original's ``origins[i]``.

    ``origins`` has one more entry, the length of the original, so that ends map too.
    """

    text: str
    origins: Sequence[int]

    def original_range(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the original from which ``start`` to ``end`` (not empty) came."""
        return self.origins[start], self.origins[end - 1] + 1


def _folded_character(character: str) -> str:
    if unicodedata.category(character) == "Cf":
        return ""
    return unicodedata.normalize("NFKC", character)


def fold_with_origins(text: str) -> FoldedText:
    """NFKC character by character, without format characters.

    Full-width forms become ASCII and zero-width characters vanish, so neither can hide a key.
    """
    changed = {c: _folded_character(c) for c in set(text)} if not text.isascii() else {}
    changed = {c: folded for c, folded in changed.items() if folded != c}
    if all(len(folded) == 1 for folded in changed.values()):
        return FoldedText(
            text.translate({ord(c): folded for c, folded in changed.items()}), range(len(text) + 1)
        )
    pieces = [changed.get(c, c) for c in text]
    origins = [i for i, piece in enumerate(pieces) for _ in piece]
    return FoldedText("".join(pieces), [*origins, len(text)])

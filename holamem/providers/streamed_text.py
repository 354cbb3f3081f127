"""The text of an answer as it may be shown: whole characters, and no thinking aloud."""

import re

_OPENING = re.compile(r"\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_LONGEST_OPENING = len("<reasoning>")
_HIGH, _LOW = ("\ud800", "\udbff"), ("\udc00", "\udfff")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class TextCleaner:
    """Fed with the pieces of a stream, in order; what it answers may be shown and stored.

    A block of thinking at the very start is left out. Null characters and halves of characters,
    which a database refuses, are dropped, unless the next piece brings the other half.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing: re.Pattern[str] | None = None
        self._has_begun = False

    def feed(self, piece: str) -> str:
        text = _joined(self._held + piece)
        self._held = ""
        if not self._has_begun:
            text = self._after_thinking(text)
        if text and _HIGH[0] <= text[-1] <= _HIGH[1]:
            self._held, text = text[-1] + self._held, text[:-1]
        return _UNSTORABLE.sub("", text)

    def end(self) -> str:
        """What was held back for a continuation that did not come."""
        held, self._held = self._held, ""
        return "" if self._closing is not None else _UNSTORABLE.sub("", held)

    def _after_thinking(self, text: str) -> str:
        if self._closing is None:
            opening = _OPENING.match(text)
            if opening is None:
                return self._begin(text)
            self._closing = re.compile(rf"</{opening[1]}>\s*", re.IGNORECASE)
            text = text[opening.end() :]
        closing = self._closing.search(text)
        if closing is None:
            self._held = text[-2 * _LONGEST_OPENING :]  # the mark may arrive in two pieces
            return ""
        self._closing, self._has_begun = None, True
        return text[closing.end() :]

    def _begin(self, text: str) -> str:
        """Hold back what may still become the mark of an opening."""
        start = text.lstrip()
        if not start or (start[0] == "<" and len(start) < _LONGEST_OPENING and ">" not in start):
            self._held = text
            return ""
        self._has_begun = True
        return text


def _joined(text: str) -> str:
    """Pairs of halves as the one character that they stand for."""
    if not any(_LOW[0] <= character <= _LOW[1] for character in text):
        return text
    return (
        text.encode("utf-16-le", "surrogatepass")
        .decode("utf-16-le", "replace")
        .replace("\ufffd", "")
    )

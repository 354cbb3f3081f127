"""How memory is fenced in a prompt, and how such text is recognised when it comes back.

Recalled text must never become memory again: it would double what is known and wear it out.
"""

import re

FENCE_NAME = "holamem-memory"
_FENCE = re.compile(r"<\s*/?\s*" + FENCE_NAME + r"\b", re.IGNORECASE)
_OPENING = re.compile(r"<\s*" + FENCE_NAME + r"\s+mark\b", re.IGNORECASE)
_CLOSING = re.compile(r"<\s*/\s*" + FENCE_NAME + r"\b", re.IGNORECASE)
# Two keys that stand together in the JSON of an answer and nowhere else.
_ANSWER_KEYS = (
    re.compile(r"[\"']retrieval_id\\*[\"']\s*:"),
    re.compile(r"[\"']retrieval_pack\\*[\"']\s*:"),
)


def open_fence(mark: str) -> str:
    """`mark` differs per answer, so that stored text cannot close the fence."""
    return f'<{FENCE_NAME} mark="{mark}">'


def close_fence(mark: str) -> str:
    return f'</{FENCE_NAME} mark="{mark}">'


def contains_recalled_text(text: str) -> bool:
    return _FENCE.search(text) is not None


def is_recalled_span(text: str, *, start: int, end: int) -> bool:
    """Whether this stretch of an event's text overlaps recalled text, fenced or a whole answer.

    A long text is judged in pieces, and the pieces inside a fence do not show its marks. Stored
    text cannot hold a fence, so the first closing one ends it; without one it goes on to the end.
    """
    if "retrieval_pack" in text and all(key.search(text) for key in _ANSWER_KEYS):
        return True
    position = 0
    while (opening := _OPENING.search(text, position, end)) is not None:
        closing = _CLOSING.search(text, opening.end())
        position = closing.end() if closing else len(text)
        if start < position:
            return True
    return False

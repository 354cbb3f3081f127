"""How memory is fenced in a prompt, and how such text is recognised when it comes back.

Recalled text must never become memory again: it would double what is known and wear it out.
"""

import re

FENCE_NAME = "holamem-memory"
_FENCE = re.compile(r"<\s*/?\s*" + FENCE_NAME + r"\b", re.IGNORECASE)


def open_fence(mark: str) -> str:
    """`mark` differs per answer, so that stored text cannot close the fence."""
    return f'<{FENCE_NAME} mark="{mark}">'


def close_fence(mark: str) -> str:
    return f'</{FENCE_NAME} mark="{mark}">'


def contains_recalled_text(text: str) -> bool:
    return _FENCE.search(text) is not None

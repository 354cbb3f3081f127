"""Whether a model's words may be the index line of a topic, which stands in every prompt."""

from collections.abc import Sequence

from agents.services.grounding import is_about, is_intended
from agents.services.instructions import tells_somebody
from holamem.text.normalise import find_forbidden
from workspaces.recall_mark import contains_recalled_text


def is_fit_summary(summary: str, *, texts: Sequence[str], name: str) -> bool:
    """Of a topic `name` that says these texts, or whose line said one of them so far."""
    is_plain = bool(summary) and find_forbidden(summary) is None and not tells_somebody(summary)
    if not is_plain or contains_recalled_text(summary) or is_intended(summary):
        return False
    return is_about(summary, texts=texts, name=name)

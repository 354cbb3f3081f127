"""What memory says to a run's sentence, as a section of its prompt: data, within a budget."""

import logging

from agents.runner.handles import RunHandle
from agents.runner.steps import asked_sentence
from holamem.errors import HolamemError
from holamem.text.normalise import is_blank
from holamem.text.tokens import count_tokens
from retrieval.definitions import QUERY_CHARACTERS, RetrieveRequest
from retrieval.recall import recall

logger = logging.getLogger(__name__)

TOKENS = 1_500
SHARE = 0.125  # of the context, where that is less
RESULTS = 8
WHOLE_SHARE = 2  # the section with its headings and gaps, against its excerpts


def recall_for(handle: RunHandle) -> str:
    """Empty where the agent recalls nothing, there is nothing to ask, or memory cannot answer."""
    config = handle.run.config
    if not config.get("recall"):
        return ""
    sentence = asked_sentence(handle)
    if is_blank(sentence):
        return ""
    budget = min(TOKENS, round(int(config["context_tokens"]) * SHARE))
    try:
        section = _section(handle, sentence=sentence, budget=budget)
    except HolamemError as error:
        # An answer without memory is better than none; the tools may still reach it.
        logger.warning("recall.failed", extra={"run": str(handle.id), "code": error.code})
        return ""
    return section if count_tokens(section) <= budget * WHOLE_SHARE else ""


def _section(handle: RunHandle, *, sentence: str, budget: int) -> str:
    request = RetrieveRequest(
        query=sentence[:QUERY_CHARACTERS], max_results=RESULTS, token_budget=budget
    )
    return recall(handle.workspace, scopes=handle.scopes, request=request)

"""Stage 2: the request and the intent as a filter of nodes."""

from datetime import datetime

from retrieval.definitions import RetrieveRequest
from retrieval.types import TICK, Intent, Lookups, TimeRange
from workspaces.index.search import NodeFilter


def explicit_range(request: RetrieveRequest) -> TimeRange | None:
    """The request's own range; its end belongs to it."""
    asked = request.time_range
    if asked is None:
        return None
    return TimeRange(asked.start, None if asked.end is None else asked.end + TICK)


def build_filter(request: RetrieveRequest, *, intent: Intent, known: Lookups) -> NodeFilter:
    """A range that the question only mentions filters "what changed" questions alone.

    Elsewhere it ranks (a fact about May may have been told in June), and the judge decides.
    """
    span = explicit_range(request)
    if span is None and intent.reading.kind == "delta":
        span = intent.reading.time_range
    learned = intent.reading.learned
    return NodeFilter(
        leaves=request.include_leaves,
        summaries=request.include_summaries,
        include_superseded=request.include_superseded or intent.reading.asks_history,
        categories=None if len(set(intent.categories)) == 2 else intent.categories,
        tree_ids=known.tree_ids,
        labels=None if request.labels is None else tuple(request.labels),
        entity_ids=known.entity_ids,
        observed=(None, None) if learned else _closed(span),
        created=_closed(span) if learned else (None, None),
        as_of=request.as_of or intent.reading.as_of,
    )


def _closed(span: TimeRange | None) -> tuple[datetime | None, datetime | None]:
    if span is None:
        return None, None
    return span.start, None if span.end is None else span.end - TICK

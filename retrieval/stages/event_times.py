"""Times that a question names by an event: "before the migration", "搬家之后".

The leaf that tells of the event dates it; what the question asks lies before or after that leaf.
"""

from dataclasses import replace

from holamem.text.segment import query_terms
from retrieval.stages.candidates import Candidates
from retrieval.stages.coverage import question_units, share_covered
from retrieval.stages.event_cues import is_back, named_event
from retrieval.types import Question, TimeRange
from workspaces.index.search import FoundNode

# A leaf tells of the event when it names this share of its words, the rare ones counting more.
TOLD_SHARE = 0.7


def with_event_times(candidates: Candidates) -> Candidates:
    """Questions that name an event, and no date, get the range that its leaf gives."""
    questions = tuple(_timed(question, candidates) for question in candidates.questions)
    return (
        candidates
        if questions == candidates.questions
        else replace(candidates, questions=questions)
    )


def _timed(question: Question, candidates: Candidates) -> Question:
    match = None if question.time_range is not None else named_event(question.text)
    if match is None:
        return question
    event = replace(question, topic_terms=tuple(query_terms(match["event"])))
    told = _told_in(candidates, event=event)
    if told is None:
        return question
    span = TimeRange(None, told.start) if is_back(match) else TimeRange(told.start, None)
    # The event is the time that is asked about, no part of what an answer has to say.
    text = question.text
    left = set(query_terms(f"{text[: match.start()]} {text[match.end() :]}"))
    topic = tuple(term for term in question.topic_terms if term in left)
    return replace(
        question,
        time_range=span,
        topic_terms=topic or question.topic_terms,
        dated_by=told.node_id if is_back(match) else None,
    )


def _told_in(candidates: Candidates, *, event: Question) -> FoundNode | None:
    """The leaf that names most of the event; of equal ones the earliest."""
    units = question_units(event, candidates=candidates)
    shares = [
        (share_covered(units, _held(node, candidates=candidates)), node)
        for node in candidates.found.nodes
        if node.kind == "leaf" and not node.asks and node.term_counts
    ]
    told = [(share, node) for share, node in shares if units and share >= TOLD_SHARE]
    if not told:
        return None
    return min(told, key=lambda item: (-item[0], item[1].start, item[1].node_id))[1]


def _held(node: FoundNode, *, candidates: Candidates) -> list[str]:
    counted = zip(candidates.terms, node.term_counts, strict=True)
    return [term for term, count in counted if count]

"""Stage 1: what a query asks for, by rules for English and Chinese; no model, no database."""

import re
from datetime import datetime

from holamem.text.languages import language_of
from holamem.text.normalise import normalise
from holamem.text.segment import query_terms
from retrieval.stages import cues
from retrieval.stages.event_cues import asks_of_the_past
from retrieval.stages.time_expressions import time_range_of, without_times
from retrieval.types import TICK, Anchor, Intent, Kind, Lookups, Mode, Question, Reading, TimeRange

MAX_QUESTIONS = 4
CONVERSATION_LINES = 3

CUED_CONFIDENCE = 0.9
DEFAULT_CONFIDENCE = 0.6

_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("delta", cues.DELTA),
    ("planning", cues.PLANNING),
    ("briefing", cues.BRIEFING),
    ("procedure_lookup", cues.PROCEDURE),
)
_BROAD_KINDS = frozenset({"delta", "planning", "briefing"})

_ASKS = (
    r"(?:what|who|whom|whose|which|when|where|why|how|is|are|was|were|do|does|did|can|has|have)\b"
)
_ZH_ASKS = (
    r"(?:谁|哪|什么|何时|几|多少|多大|多久|多长|多高|多远|怎么|怎样|如何|为什么|是否|有没有|是不是)"
)
# A new question begins after a question mark, a semicolon or a line end, and after "and" or a
# comma when an interrogative follows.
_SPLIT = re.compile(
    rf"(?<=[?？;；\n])\s*|[,，]?\s+and\s+(?={_ASKS})|[,，]\s*(?:以及|还有|并且|另外|同时)(?=.*{_ZH_ASKS})",
    re.IGNORECASE,
)
_IS_QUESTION = re.compile(rf"[?？]|^\s*{_ASKS}|{_ZH_ASKS}|[吗呢]\s*[。.]?$", re.IGNORECASE)

_ENDS_ASKING = re.compile(r"[?？][\W_]*$|[吗呢]\W*$")

# Capitalised words inside a sentence, quoted spans, identifiers and numbers with letters.
_NAME = re.compile(
    r"(?<=[\w,;:)] )[A-Z][\w'’-]*\w(?: [A-Z][\w'’-]*\w)*"
    r"|[\"“「『《`]([^\"”」』》`]{2,60})[\"”」』》`]"
    r"|\b[\w]+(?:[._/:@-]\w+)+\b|\b(?=\w*\d)(?=\w*[A-Za-z])\w+\b|\b[A-Z]{2,}\b"
)


def read_query(query: str, *, mode: str, explicit: TimeRange | None, anchor: Anchor) -> Reading:
    """The query by its words alone. `mode` "auto" is decided by the kind of question."""
    kind, confidence = _kind_of(query)
    named = _named_range(query, anchor)
    return Reading(
        kind=kind,
        mode=_mode_of(kind, query=query, asked=mode),
        confidence=confidence,
        questions=split_questions(query, anchor),
        time_range=explicit if explicit is not None else named,
        learned=kind == "delta" and cues.LEARNED.search(query) is not None,
        prefers_recent=kind == "delta" or cues.RECENT.search(query) is not None,
        language=language_of(query),
        about_integration=cues.INTEGRATION.search(query) is not None,
        asks_history=_asks_history(query, named=named),
        as_of=_as_of(query, named=named),
    )


def _asks_history(query: str, *, named: TimeRange | None) -> bool:
    """In so many words, or by asking of the time up to a moment."""
    up_to = named is not None and named.start is None
    return up_to or cues.HISTORY.search(query) is not None or asks_of_the_past(query)


def _as_of(query: str, *, named: TimeRange | None) -> datetime | None:
    """The last moment of what "as of" names."""
    if named is None or named.start is not None or cues.AS_OF.search(query) is None:
        return None
    return None if named.end is None else named.end - TICK


def build_intent(reading: Reading, *, categories: list[str] | None, known: Lookups) -> Intent:
    """Both categories unless the request names some, or the query speaks of synced data."""
    if categories is None:
        only_synced = reading.about_integration and known.providers
        categories = ["integration"] if only_synced else ["interaction", "integration"]
    return Intent(reading=reading, categories=tuple(categories), entities=known.entities)


def _kind_of(query: str) -> tuple[Kind, float]:
    for kind, pattern in _KINDS:
        if pattern.search(query):
            return kind, CUED_CONFIDENCE
    return "fact_lookup", CUED_CONFIDENCE if _IS_QUESTION.search(query) else DEFAULT_CONFIDENCE


def _mode_of(kind: Kind, *, query: str, asked: str) -> Mode:
    if asked == "broad_summary":
        return "broad_summary"
    if asked == "exact_evidence":
        return "exact_evidence"
    broad = kind in _BROAD_KINDS and not (kind != "delta" and cues.EXACT.search(query))
    return "broad_summary" if broad else "exact_evidence"


def split_questions(query: str, anchor: Anchor) -> tuple[Question, ...]:
    """The questions in the query, in order, at most four; the query itself when it is one.

    A pasted conversation is one question as a whole.
    """
    clauses = [part.strip() for part in _SPLIT.split(query) if part and part.strip()]
    if _is_conversation(query):
        clauses = [query]
    found: list[str] = []
    for clause in clauses:
        if found and not (query_terms(clause) and _IS_QUESTION.search(clause)):
            found[-1] = f"{found[-1]} {clause}"
        elif found and not _IS_QUESTION.search(found[-1]):
            found[-1] = f"{found[-1]} {clause}"  # a statement sets the scene for its question
        else:
            found.append(clause)
    if len(found) > MAX_QUESTIONS:
        found = [*found[: MAX_QUESTIONS - 1], " ".join(found[MAX_QUESTIONS - 1 :])]
    whole = _named_range(query, anchor)
    texts = found if len(found) > 1 else [query]
    return tuple(_question(text, anchor=anchor, fallback=whole) for text in texts)


def _named_range(query: str, anchor: Anchor) -> TimeRange | None:
    """What a pasted conversation calls "today" is when it was held, not what it asks about."""
    return None if _is_conversation(query) else time_range_of(query, anchor)


def _is_conversation(query: str) -> bool:
    """Several lines of which some only tell; a list of questions asks in every line."""
    lines = [line.strip() for line in query.splitlines() if line.strip()]
    return len(lines) >= CONVERSATION_LINES and not all(map(_ENDS_ASKING.search, lines))


def _question(text: str, *, anchor: Anchor, fallback: TimeRange | None) -> Question:
    named = _named_range(text, anchor)
    terms = tuple(query_terms(text))
    topic = tuple(query_terms(_without_cues(without_times(text, anchor))))
    return Question(
        text=text,
        terms=terms,
        topic_terms=topic,
        names=names_in(without_times(text, anchor)),
        time_range=named or fallback,
        last_terms=_last_terms(text),
    )


def _last_terms(text: str) -> frozenset[str]:
    """What a pasted conversation came to."""
    if not _is_conversation(text):
        return frozenset()
    return frozenset(query_terms(text.rstrip().splitlines()[-1]))


def _without_cues(text: str) -> str:
    """ "Summarise Atlas" is about Atlas: the words that ask are no part of the topic."""
    kind, _ = _kind_of(text)
    if kind not in _BROAD_KINDS:
        return cues.OPEN_ASKING.sub(" ", text)
    bare = dict(_KINDS)[kind].sub(" ", text)
    return cues.RECENT.sub(" ", bare) if kind == "delta" else bare


def names_in(text: str) -> tuple[str, ...]:
    """What looks like the name of something, folded, in order and without repeats."""
    found = (match[1] or match[0] for match in _NAME.finditer(normalise(text)))
    return tuple(dict.fromkeys(name.casefold().removesuffix("'s") for name in found))

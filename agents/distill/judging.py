"""What of the model's words becomes memory: only what the results that it names have said.

Nobody approves what is distilled, so that each sentence is held against its results here, and one
that tells somebody to do something is not kept whoever said it. What is dropped is kept in the
report of the pass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from agents.distill.asking import DistillReply, KnownTopic, StatementReply
from agents.distill.evidence import Evidence
from agents.distill.lines import mark_of, topic_lines
from agents.hot.topics import checked_name
from agents.services.grounding import is_intended, is_said
from agents.services.index_lines import is_fit_summary
from agents.services.instructions import tells_somebody
from holamem.errors import InvalidInput
from holamem.ids import new_id
from holamem.text.languages import language_of
from holamem.text.normalise import find_forbidden, normalise
from holamem.text.secrets import mask_secrets
from workspaces.judging.reading import content_terms
from workspaces.judging.support import Source, unsupported
from workspaces.recall_mark import contains_recalled_text

STATEMENT_CHARACTERS = 500
GENERAL = "general"
SAME_SUBJECT = 0.6  # of a line's words, in a statement that may take its place: all but its value
SHOWN_CHARACTERS = 200  # of what is dropped


@dataclass(frozen=True, slots=True)
class Statement:
    id: UUID
    text: str
    topic: str
    replaces: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    @property
    def mark(self) -> str:
        return mark_of(self.id)


@dataclass(frozen=True, slots=True)
class Dropped:
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Judged:
    """`summaries` by topic: the lines of the index."""

    statements: tuple[Statement, ...]
    dropped: tuple[Dropped, ...]
    summaries: Mapping[str, str]


def judge(
    reply: DistillReply, *, evidence: Sequence[Evidence], topics: Mapping[str, KnownTopic]
) -> Judged:
    """In the order of the reply; a statement that comes twice is kept once."""
    by_key = {item.key: item for item in evidence}
    said = {_key(line.text) for topic in topics.values() for line in topic_lines(topic.content)}
    kept: list[Statement] = []
    dropped: list[Dropped] = []
    for item in reply.statements:
        text = " ".join(mask_secrets(item.text).text.split()) if _storable(item.text) else ""
        named = tuple(by_key[key] for key in dict.fromkeys(item.results) if key in by_key)
        reason = _fault_of(text, item=item, named=named)
        if not reason and _key(text) in said:
            reason = "known"
        if reason:
            dropped.append(Dropped(text[:SHOWN_CHARACTERS], reason))
            continue
        said.add(_key(text))
        topic = _topic_of(item.topic, text=text, named=named, topics=topics)
        replaces = _replaced(item, text=text, topic=topics.get(topic))
        kept.append(Statement(new_id(), text, topic, replaces, named))
    summaries = _summaries(reply, kept=kept, topics=topics)
    return Judged(tuple(kept), tuple(dropped), summaries)


def _storable(text: str) -> bool:
    return find_forbidden(text) is None and not contains_recalled_text(text)


def _key(text: str) -> str:
    return normalise(text).casefold().rstrip(".。 ")


def _fault_of(text: str, *, item: StatementReply, named: Sequence[Evidence]) -> str:
    """Why the statement is dropped, in one word, or ""."""
    if not text or len(text) > STATEMENT_CHARACTERS:
        return "length" if text else "unstorable"
    if not named or len(named) != len(dict.fromkeys(item.results)):
        return "no_result"  # none named, or one that is not there
    if tells_somebody(text):
        return "instruction"
    if is_intended(text):
        return "intention"
    if language_of(text) not in {language_of(one.text) for one in named}:
        return "language"
    fault = unsupported(text, source=source_of(named), named_in=names_of(named))
    return fault or ("" if any(_says(one, text) for one in named) else "apart")


def _says(one: Evidence, text: str) -> bool:
    """One result alone, in one place: of several, each has to show the whole of it."""
    asked = [value for value in one.arguments.values() if isinstance(value, str)]
    return is_said(text, text=one.text, asked=asked)


def source_of(named: Sequence[Evidence]) -> Source:
    return Source("\n".join(f"{one.text} {one.said_at:%Y %m %d}" for one in named))


def names_of(named: Sequence[Evidence]) -> Source:
    """What a tool was asked about may be named; what it was told is no fact, nor a number."""
    asked = " ".join(f"{one.tool} {value}" for one in named for value in one.arguments.values())
    return Source(source_of(named).text, asked)


def _topic_of(
    name: str, *, text: str, named: Sequence[Evidence], topics: Mapping[str, KnownTopic]
) -> str:
    """A name stands in every prompt of the scope: a known one, or words of what was found."""
    try:
        checked = checked_name(name)
    except InvalidInput:
        return GENERAL
    if checked in topics:
        return checked
    known = content_terms(f"{text} {names_of(named).all_text}")
    is_named = content_terms(checked) and content_terms(checked) <= known
    return checked if is_named and not tells_somebody(checked) else GENERAL


def _replaced(item: StatementReply, *, text: str, topic: KnownTopic | None) -> tuple[str, ...]:
    """Lines of the same topic, distilled before, that are about the same thing."""
    if topic is None:
        return ()
    said = content_terms(text)
    lines = {line.mark: content_terms(line.text) for line in topic_lines(topic.content)}
    return tuple(
        mark
        for mark in dict.fromkeys(item.replaces)
        if mark and lines.get(mark) and len(lines[mark] & said) >= SAME_SUBJECT * len(lines[mark])
    )


def _summaries(
    reply: DistillReply, *, kept: Sequence[Statement], topics: Mapping[str, KnownTopic]
) -> dict[str, str]:
    """The model's line where one line of the topic has its words, else its newest statement.

    It stands in every prompt of the scope, so that it is held against the text as statements are.
    """
    offered = {normalise(item.topic).casefold(): item.summary for item in reply.summaries}
    found: dict[str, str] = {}
    for statement in kept:
        name = statement.topic
        texts = [one.text for one in kept if one.topic == name]
        if name in topics:
            texts += [line.text for line in topic_lines(topics[name].content)]
        summary = " ".join(offered.get(name, "").split())
        if not is_fit_summary(summary, texts=texts, name=name):
            summary = statement.text
        found[name] = mask_secrets(summary).text
    return found

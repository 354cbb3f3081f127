"""What of the model's words becomes memory: only what the results that it names have said.

Nobody approves what is distilled, so that each sentence is held against its results here, and one
that tells somebody to do something is not kept whoever said it. What is dropped is kept in the
report of the pass.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from agents.distill.asking import DistillReply, KnownTopic, StatementReply
from agents.distill.evidence import Evidence
from agents.distill.lines import mark_of, topic_lines
from agents.hot.topics import checked_name
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
SAME_SUBJECT = 0.3  # of a line's words, in a statement that may take its place
SHOWN_CHARACTERS = 200  # of what is dropped

# Told to somebody, or about how to behave: no fact, whatever it is written as.
_ADDRESSED = re.compile(
    r"\b(?:you|your|yours|yourself)\b|[你您]|\b(?:system prompt|previous instructions?|from now on)\b"
    r"|从现在(?:起|开始)|(?:忽略|无视|不要理会).{0,12}(?:指令|说明|规则|要求)|系统提示",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"^\W*(?:please\b|always\b|never\b|do not\b|don't\b|make sure\b|ensure\b|remember\b|forget\b|ignore\b"
    r"|disregard\b|approve\b|execute\b|reply\b|respond\b|pretend\b|tell\b|send\b|delete\b|call\b|run\b"
    r"|请|务必|必须|切勿|不要|别|忽略|批准|执行|调用|发送|删除|记住|忘记|始终|总是|永远)",
    re.IGNORECASE,
)
_ABOUT_TOOLS = re.compile(
    r"\b(?:memory_\w+|tool calls?|approvals?|all (?:requests|calls|tools))\b.{0,60}"
    r"\b(?:approv\w+|allow\w*|skip\w*|bypass\w*|granted|automatic\w*|without)\b"
    r"|(?:工具|调用|审批|批准).{0,20}(?:无需|不需要|自动|跳过|绕过|一律)",
    re.IGNORECASE,
)
_INTENDED = re.compile(
    r"\b(?:i|we) (?:will|would|plan|intend|want|am going|are going|should|could|might|think|guess|believe)\b"
    r"|\b(?:going to|planned to|plans to|intends to|probably|perhaps|maybe)\b"
    r"|(?:我|我们)(?:将|会|打算|计划|准备|想|要|觉得|认为|猜)|打算|计划要|可能会|也许|大概",
    re.IGNORECASE,
)


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
    source = source_of(named)
    if _INTENDED.search(text) and not _INTENDED.search(source.text):
        return "intention"
    if language_of(text) not in {language_of(one.text) for one in named}:
        return "language"
    return unsupported(text, source=source, named_in=names_of(named))


def tells_somebody(text: str) -> bool:
    return any(rule.search(text) for rule in (_ADDRESSED, _COMMAND, _ABOUT_TOOLS))


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
    """The model's line where the topic's own text has its words, else its newest statement."""
    offered = {normalise(item.topic).casefold(): item.summary for item in reply.summaries}
    found: dict[str, str] = {}
    for statement in kept:
        name = statement.topic
        texts = [one.text for one in kept if one.topic == name]
        known = topics[name].content if name in topics else ""
        summary = " ".join(offered.get(name, "").split())
        source = Source("\n".join([known, *texts]), name)
        is_fit = summary and _storable(summary) and not tells_somebody(summary)
        if not is_fit or unsupported(summary, source=source):
            summary = statement.text
        found[name] = mask_secrets(summary).text
    return found

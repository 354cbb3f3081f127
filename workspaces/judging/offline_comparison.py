"""Comparison by rules: does a chunk repeat, replace or merely neighbour a leaf?

Two statements are laid side by side as a frame (content terms) and values (numbers, days,
names). Same frame and values: the same memory. Same frame and other values: a change.
Anything less is a neighbour: merging two facts loses one, keeping both loses nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from workspaces.judging.base import ChunkContext, Comparison, LeafView
from workspaces.judging.base import Relation as Verdict
from workspaces.judging.cues_en import ENGLISH
from workspaces.judging.cues_zh import CHINESE
from workspaces.judging.numerals import in_digits
from workspaces.judging.reading import (
    READINGS_KEPT,
    cleaned,
    content_terms,
    is_chinese,
    likeness,
    sentences,
    values,
)
from workspaces.judging.relations import FIRST_PERSONS, Relation, is_change, relation_in
from workspaces.judging.surnames import SURNAMES

SAME_FRAME = 0.75
# With "now", "moved to", "改为" in the new text a looser likeness is a change too.
CHANGED_FRAME = 0.5
# A statement opens with what it states; this also bounds the work on a long sentence.
READ_CHARACTERS = 400
# Only repeats that leave out at most a tenth of the words are the same memory.
REPEATED = 0.9

_CHANGE_EN = re.compile(
    r"\b(?:now|no longer|not any ?more|any ?more|changed|moved (?:to|from)|switched|replaced|instead|from now on|as of|new|updated|upgraded|renamed"
    r"|took over|taken over|takes over|hand(?:ed|s) over|postponed|rescheduled|increased|decreased|reduced|raised|lowered|has become|became|correction|actually)\b",
    re.IGNORECASE,
)
_CHANGE_ZH = re.compile(
    r"现在|目前|改[为到成由在用回]|换[成到为]|不再|调[到整]|升级|推迟|提前|延期|迁[到移]|搬到|接手|接替|交接|更新|变[成为更]|更正|增加|增[到至]|减少|[降涨减][到至为了]|上涨|下降|从[^，。]{1,20}[到为成]"
)
_RELATIVE_DAY = re.compile(
    r"\b(?:today|yesterday|tomorrow|tonight|this (?:morning|week|month)|last (?:night|week|month)|ago)\b|今天|昨天|明天|前天|昨晚|今早|这周|上周|刚才|那次",
    re.IGNORECASE,
)
_CUE_TERMS = content_terms(
    "now no longer changed moved move switched replaced instead updated upgraded renamed taken over takes took handed postponed"
    " rescheduled increased decreased reduced raised lowered become became actually correction new anymore owned"
) | content_terms(
    "现在 目前 改为 改到 改成 改由 换成 不再 调到 调整 升级 推迟 提前 延期 接手 接替 交接 更新 变成 更正 负责 管了 现在改由 现在由 现在改为"
)
# "Also", "as well": the old statement stays true beside the new one.
_ADDITION = re.compile(
    r"\b(?:also|as well|too|in addition|additionally|besides|another|both|second|alongside)\b|[，,]?也|还(?![款清原])|同时|另外|再加|除了",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|cannot|neither)\b|n't\b|不(?!错|过|仅|但|同|少|久|断|管|论|足)|没(?!关系|准)|无(?!论|锡|线)|未(?!来)|别(?!人|的|墅)",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"\b(?:no longer|not any ?more|any ?more|stopped|quit|gave up)\b|不再|不[^，。]{1,10}了",
    re.IGNORECASE,
)
_HAPPENED = re.compile(
    r"\b(?:was|were|\w+ed|went|ran|came|took place|showed|did|didn't)\b|了|完成|显示"
)
# How long something has gone on is no date: 工作了5年, 住了三个月.
_DURATION_ZH = re.compile(
    r"了?\d+(?:多|几)?(?:个)?(?:年|月|天|周|小时|分钟)(?:多|半)?了?(?![月日号])"
)
# Cut out of a sentence before it becomes character pairs, which they would enter.
_CUE_WORDS_ZH = re.compile(
    r"现在|目前|已经|不再|改[为到成由]|换成|(?:调整|升级|推迟|提前|延期|增加|减少|上涨|下降|变)[为到至成]?|[增降涨减][到至为]|更正为?|接手|接替"
)
_CLAUSE_END = re.compile(r"[，；;]|, ")
# A body may open with its title as a heading; the statement is what follows.
_HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)
_CAPITALISED = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-Þ][^\W\d_]+(?: [A-ZÀ-ÖØ-Þ][^\W\d_]+)*")
# "是个老师" and "是上海人" tell what somebody is, and are no holder's name.
_HOLDER_ZH = re.compile(
    r"(?:由|归|给|换成|改成|是)(?![个名位])([\u4e00-\u9fff]{2,3}?)(?<!人)(?=负责|维护|管|接|担任|值班|[，。]|$)"
)
# One of several, and not named: the next colleague is likely another one.
_ONE_OF_SEVERAL = re.compile(
    r"^(?:my|our|an?|one of (?:my|our)) (?:[a-z]+ )?(?:colleague|co-?worker|teammate|report|subordinate|friend|cousin|neighbou?r"
    r"|classmate|roommate|client|customer|student)s?\b(?! (?-i:[A-Z]))"
    rf"|^我们?的?(?:一?[个名位])?(?:下属|同事|朋友|同学|邻居|室友|客户|学生|[表堂][哥弟姐妹])(?!(?:{'|'.join(sorted(SURNAMES))})[\u4e00-\u9fff])",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？][\W_]*$|[吗呢]\W*$")


@dataclass(frozen=True, slots=True)
class _Statement:
    """`frame` has no values; `terms` and `numbers` are all that is said, whatever its case."""

    frame: frozenset[str]
    values: frozenset[str]
    terms: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    is_negated: bool


def compare(chunk: ChunkContext, *, subject_key: str, leaves: Sequence[LeafView]) -> Comparison:
    """The strongest relation to any of the leaves; "same" goes before "supersedes"."""
    found = [(leaf, *_relate(chunk, subject_key=subject_key, leaf=leaf)) for leaf in leaves]
    for relation in ("same_memory", "supersedes_existing"):
        related = [(confidence, leaf) for leaf, kind, confidence in found if kind == relation]
        if related:
            confidence, leaf = max(related, key=lambda pair: (pair[0], pair[1].observed_at))
            return Comparison(relation, leaf.leaf_id, confidence)
    return Comparison("different", None, 0.8)


def _relate(chunk: ChunkContext, *, subject_key: str, leaf: LeafView) -> tuple[Verdict, float]:
    new, old = _statement(chunk.text), _statement(leaf.text)
    may_replace = (
        chunk.kind != "tool_result"
        and not _ADDITION.search(cleaned(chunk.text))
        and not _is_long_ago(chunk.text, leaf)
    )
    if may_replace and _ends_relation(chunk, subject_key=subject_key, leaf=leaf):
        return "supersedes_existing", 0.85
    if _happened_apart(chunk, leaf):
        return "different", 0.7
    if new.is_negated == old.is_negated and _is_repeat(new, old):
        return "same_memory", 0.95
    if not may_replace:
        return "different", 0.6
    is_same_key = bool(subject_key.partition("|")[2]) and subject_key == leaf.subject_key
    confidence = _denial(chunk.text, new, old)
    if not confidence and new.is_negated == old.is_negated and new.values != old.values:
        confidence = _replacement(chunk.text, new, old, is_same_key=is_same_key)
    if not confidence and is_same_key and _has_change_cue(chunk.text):
        confidence = _clause_replacement(chunk.text, leaf.text)
    return ("supersedes_existing", confidence) if confidence else ("different", 0.6)


def _ends_relation(chunk: ChunkContext, *, subject_key: str, leaf: LeafView) -> bool:
    """A home, an employer, an assignment or a liking that the old statement gives otherwise."""
    new, old = relation_in(_opening(chunk.text)), relation_in(_opening(leaf.text))
    if new is None or old is None or not is_change(new, old):
        return False
    owners = {key.partition("|")[0] for key in (subject_key, leaf.subject_key)}
    return _is_one_subject(new, old, is_one_owner=len(owners) == 1 and "" not in owners)


def _is_one_subject(new: Relation, old: Relation, *, is_one_owner: bool) -> bool:
    """The same words, or the owner of both under "I" and a name."""
    if new.subject == old.subject:
        return is_one_owner or new.subject not in FIRST_PERSONS
    return is_one_owner and bool({new.subject, old.subject} & FIRST_PERSONS)


def _is_long_ago(text: str, leaf: LeafView) -> bool:
    """A move in 2019 that is told in 2026 ends nothing that was said since."""
    years = [int(year) for year in re.findall(r"(?<!\d)((?:19|20)\d\d)(?!\d)", text)]
    return bool(years) and max(years) < leaf.observed_at.year


def _denial(text: str, new: "_Statement", old: "_Statement") -> float:
    """One says what the other denies, in the same words and of the same things."""
    if new.is_negated == old.is_negated or not new.values <= old.values:
        return 0.0
    if new.numbers and new.numbers != old.numbers:
        return 0.0
    is_ended = _ENDED.search(cleaned(text)) is not None
    if not is_ended and (_HAPPENED.search(cleaned(text)) or new.values != old.values):
        return 0.0
    is_nested = new.frame <= old.frame or old.frame <= new.frame
    alike = likeness(new.frame, old.frame)
    if not new.frame and not old.frame:
        return 0.0
    return 0.8 if is_nested and alike >= SAME_FRAME else 0.0


@lru_cache(maxsize=READINGS_KEPT)
def _opening(text: str) -> str:
    """The first sentence without a heading and without what opens a turn."""
    told = cleaned(_HEADING.sub("", text))
    first = next(iter(sentences(told)), told)[:READ_CHARACTERS]
    return (CHINESE if is_chinese(first) else ENGLISH).opening.sub("", first)


def _happened_apart(chunk: ChunkContext, leaf: LeafView) -> bool:
    """ "Yesterday I ran" said on two days is two runs, however alike the words are."""
    is_relative = _RELATIVE_DAY.search(chunk.text) or _RELATIVE_DAY.search(leaf.text)
    return bool(is_relative) and chunk.occurred_at.date() != leaf.observed_at.date()


def _is_repeat(new: _Statement, old: _Statement) -> bool:
    """A repeat adds nothing: its numbers are the old ones, its words are all in the old text."""
    if not new.terms or new.numbers != old.numbers or not new.terms <= old.terms:
        return False
    return likeness(new.terms, old.terms) >= REPEATED


def _replacement(text: str, new: _Statement, old: _Statement, *, is_same_key: bool) -> float:
    """0 when the new statement does not take the old one's place, else a confidence."""
    is_nested = new.frame <= old.frame or old.frame <= new.frame
    alike = likeness(new.frame, old.frame)
    if not new.values or not old.values:
        return 0.0
    # Words of its own on both sides ("in staging", "in production") mean two facts.
    if (
        _has_change_cue(text)
        and is_nested
        and alike >= (CHANGED_FRAME if is_same_key else SAME_FRAME)
    ):
        return 0.85
    # Without such a word a value changes alone: who else works elsewhere for another time is new.
    is_one_value = max(len(new.values - old.values), len(old.values - new.values)) == 1
    is_same = is_same_key and new.frame == old.frame and is_one_value
    return 0.7 if is_same and not _tells_of_another(text) else 0.0


def _tells_of_another(text: str) -> bool:
    """A dated happening, one more of several people, or a question, which states nothing."""
    told = cleaned(text)
    return bool(_is_event(text) or _ONE_OF_SEVERAL.search(told) or _ASKS.search(told))


def _clause_replacement(new_text: str, old_text: str) -> float:
    """Compares the opening clauses alone: "X is now owned by B, not by A any more"."""
    new, old = (
        _statement(_CLAUSE_END.split(cleaned(_HEADING.sub("", text)))[0])
        for text in (new_text, old_text)
    )
    if new.values == old.values or new.is_negated != old.is_negated:
        return 0.0
    return _replacement(new_text, new, old, is_same_key=True)


def _has_change_cue(text: str) -> bool:
    return bool((_CHANGE_ZH if is_chinese(text) else _CHANGE_EN).search(cleaned(text)))


def _is_event(text: str) -> bool:
    """Dated happenings stand side by side: the second test run does not undo the first."""
    told = in_digits(cleaned(text))
    if is_chinese(told):
        told = _DURATION_ZH.sub("", told)
    cues = CHINESE if is_chinese(told) else ENGLISH
    return bool(_HAPPENED.search(told) and cues.dated.search(told))


@lru_cache(maxsize=READINGS_KEPT)
def _statement(text: str) -> _Statement:
    folded = in_digits(cleaned(_HEADING.sub("", text)))
    holders = _CAPITALISED.findall(folded) + _HOLDER_ZH.findall(folded)
    numbers = values(folded)
    names = frozenset(name.casefold() for name in holders) - numbers  # a day is a value, not a name
    # Taken out before the text is cut into character pairs, which would bridge the gap.
    rest = _CUE_WORDS_ZH.sub(" ", folded)
    for holder in holders:
        rest = rest.replace(holder, " ")
    return _Statement(
        frame=content_terms(rest) - _CUE_TERMS,
        values=numbers | names,
        terms=content_terms(folded),
        numbers=numbers,
        names=names,
        is_negated=_NEGATION.search(folded) is not None,
    )

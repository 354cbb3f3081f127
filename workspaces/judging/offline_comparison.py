"""Comparison by rules: does a chunk repeat, replace or merely neighbour a leaf?

Two statements are laid side by side as a frame (content terms) and values (numbers, days,
names). Same frame and values: the same memory. Same frame and other values: a change.
Anything less is a neighbour: merging two facts loses one, keeping both loses nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workspaces.judging.base import ChunkContext, Comparison, LeafView, Relation
from workspaces.judging.cues_en import ENGLISH
from workspaces.judging.cues_zh import CHINESE
from workspaces.judging.reading import cleaned, content_terms, is_chinese, likeness, values

SAME_FRAME = 0.75
# With "now", "moved to", "改为" in the new text a looser likeness is a change too.
CHANGED_FRAME = 0.5
# Only repeats that leave out at most a tenth of the words are the same memory.
REPEATED = 0.9

_CHANGE_EN = re.compile(
    r"\b(?:now|no longer|not any ?more|any ?more|changed|moved (?:to|from)|switched|replaced|instead|from now on|as of|new|updated|upgraded|renamed"
    r"|took over|taken over|takes over|hand(?:ed|s) over|postponed|rescheduled|increased|decreased|reduced|raised|lowered|has become|became|correction|actually)\b",
    re.IGNORECASE,
)
_CHANGE_ZH = re.compile(
    r"现在|目前|改[为到成由在用回]|换[成到为]|不再|调[到整]|升级|推迟|提前|延期|迁[到移]|搬到|接手|接替|交接|更新|变[成为更]|更正|从[^，。]{1,20}[到为成]"
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
_CLAUSE_END = re.compile(r"[，；;]|, ")
# A body may open with its title as a heading; the statement is what follows.
_HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)
_CAPITALISED = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-Þ][^\W\d_]+(?: [A-ZÀ-ÖØ-Þ][^\W\d_]+)*")
_HOLDER_ZH = re.compile(
    r"(?:由|归|给|换成|改成|是)([\u4e00-\u9fff]{2,3}?)(?=负责|维护|管|接|担任|值班|[，。]|$)"
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """`frame` has no values; `terms` and `numbers` are all that is said, whatever its case."""

    frame: frozenset[str]
    values: frozenset[str]
    terms: frozenset[str]
    numbers: frozenset[str]


def compare(chunk: ChunkContext, *, subject_key: str, leaves: Sequence[LeafView]) -> Comparison:
    """The strongest relation to any of the leaves; "same" goes before "supersedes"."""
    found = [(leaf, *_relate(chunk, subject_key=subject_key, leaf=leaf)) for leaf in leaves]
    for relation in ("same_memory", "supersedes_existing"):
        related = [(confidence, leaf) for leaf, kind, confidence in found if kind == relation]
        if related:
            confidence, leaf = max(related, key=lambda pair: (pair[0], pair[1].observed_at))
            return Comparison(relation, leaf.leaf_id, confidence)
    return Comparison("different", None, 0.8)


def _relate(chunk: ChunkContext, *, subject_key: str, leaf: LeafView) -> tuple[Relation, float]:
    new, old = _statement(chunk.text), _statement(leaf.text)
    if _happened_apart(chunk, leaf):
        return "different", 0.7
    if _is_repeat(new, old):
        return "same_memory", 0.95
    if chunk.kind == "tool_result" or new.values == old.values:
        return "different", 0.6
    is_same_key = bool(subject_key.partition("|")[2]) and subject_key == leaf.subject_key
    confidence = _replacement(chunk.text, new, old, is_same_key=is_same_key)
    if not confidence and is_same_key and _has_change_cue(chunk.text):
        confidence = _clause_replacement(chunk.text, leaf.text)
    return ("supersedes_existing", confidence) if confidence else ("different", 0.6)


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
    if is_same_key and is_nested and alike >= SAME_FRAME and not _is_event(text):
        return 0.7
    return 0.0


def _clause_replacement(new_text: str, old_text: str) -> float:
    """Compares the opening clauses alone: "X is now owned by B; A handed it over"."""
    new, old = (
        _statement(_CLAUSE_END.split(cleaned(_HEADING.sub("", text)))[0])
        for text in (new_text, old_text)
    )
    if new.values == old.values:
        return 0.0
    return _replacement(new_text, new, old, is_same_key=True)


def _has_change_cue(text: str) -> bool:
    return bool((_CHANGE_ZH if is_chinese(text) else _CHANGE_EN).search(cleaned(text)))


def _is_event(text: str) -> bool:
    """Dated happenings stand side by side: the second test run does not undo the first."""
    cues = CHINESE if is_chinese(text) else ENGLISH
    happened = re.search(
        r"\b(?:was|were|\w+ed|went|ran|took place|showed)\b|了|完成|显示", cleaned(text)
    )
    return bool(happened and cues.dated.search(cleaned(text)))


def _statement(text: str) -> _Statement:
    folded = cleaned(_HEADING.sub("", text))
    holders = _CAPITALISED.findall(folded) + _HOLDER_ZH.findall(folded)
    names = frozenset(name.casefold() for name in holders)
    # Taken out before the text is cut into character pairs, which would bridge the gap.
    rest = folded
    for holder in holders:
        rest = rest.replace(holder, " ")
    numbers = values(folded)
    return _Statement(
        frame=content_terms(rest) - _CUE_TERMS,
        values=numbers | names,
        terms=content_terms(folded),
        numbers=numbers,
    )

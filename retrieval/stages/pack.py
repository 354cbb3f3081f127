"""Stage 9 without a model: an extractive pack, every item a sentence of the evidence it cites."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem.text.languages import has_han
from holamem.text.normalise import normalise
from retrieval.answer import NextStep, PackItem, RetrievalPack
from retrieval.stages import cues
from retrieval.stages.calibration import LOW_BELOW
from retrieval.stages.next_source import source_of
from retrieval.stages.phrases import phrase
from retrieval.types import Anchor, Hydrated, Judgement, NextSource, Sentence

MAX_FACTS = 8
MAX_EXACT_FACTS = 5
MAX_SIGNALS = 5
MAX_OTHERS = 5
# Longer "sentences" are code, tables or pasted data: shown as excerpts, not as facts.
MAX_FACT_CHARACTERS = 400
# Beside a node's best sentence, those that cover nearly as much of the question; of an exact
# question, nearly as much as the best sentence of all.
SENTENCE_SHARE = 0.8
FACTS_PER_NODE = 2

_QUESTION_END = re.compile(r"[?？]\s*[\"”』」)]*\s*$")


@dataclass(frozen=True, slots=True)
class _Pick:
    """A sentence that may go into the pack, with the evidence that it came from.

    `before` is evidence whose place this one took.
    """

    item: Hydrated
    text: str
    before: Hydrated | None = None


def build_pack(
    evidence: Sequence[Hydrated], *, judgement: Judgement, is_broad: bool, anchor: Anchor
) -> RetrievalPack:
    """Coverage none or low: no facts, and the next step is to look elsewhere."""
    cited = _cited(evidence, judgement)
    replaced: dict[UUID | None, Hydrated] = {
        item.row.node_id: item for item in evidence if item.row.status == "superseded"
    }
    picks = _picks(cited, judgement, is_broad=is_broad, replaced=replaced)
    facts = _items(picks, limit=MAX_FACTS if is_broad else MAX_EXACT_FACTS, anchor=anchor)
    taken = {normalise(text) for text in _texts(facts)}
    told = picks
    if is_broad:
        told = [_Pick(item, sentence.text) for item in cited for sentence in item.sentences]
    return RetrievalPack(
        known_facts=facts,
        recent_high_signal_items=_signals(told, anchor=anchor),
        constraints=_matching(cited, cues.CONSTRAINT.search, anchor=anchor),
        blockers=_matching(cited, cues.BLOCKER.search, anchor=anchor),
        open_questions=_matching(cited, _is_open, anchor=anchor, without=taken),
        recommended_next_source=next_source(facts, cited=cited, judgement=judgement),
        recommended_next_step=next_step(facts, cited=cited, judgement=judgement),
    )


def _cited(evidence: Sequence[Hydrated], judgement: Judgement) -> list[Hydrated]:
    """Evidence that answers some question well enough; nothing when the whole is not covered."""
    if judgement.score < LOW_BELOW:
        return []
    ids = {
        evidence_id
        for coverage in judgement.per_question
        if coverage.score >= LOW_BELOW
        for evidence_id in coverage.evidence_ids
    }
    return [item for item in evidence if item.evidence_id in ids]


def _picks(
    cited: Sequence[Hydrated],
    judgement: Judgement,
    *,
    is_broad: bool,
    replaced: Mapping[UUID | None, Hydrated],
) -> list[_Pick]:
    """Current before superseded; leaves before summaries, which repeat them; the best first.

    What took the place of something tells it too, so that has no line of its own.
    """

    def place(item: Hydrated) -> tuple[bool, bool, float]:
        support = 0.0 if is_broad else max(item.supports)
        return item.row.status == "superseded", item.row.kind == "summary", -support

    floors = [
        0.0 if is_broad else _best_share(cited, index=index)
        for index in range(len(judgement.per_question))
    ]
    return [
        _Pick(item, sentence.text, replaced.get(item.row.supersedes))
        for item in sorted(cited, key=place)
        if item.row.node_id not in {new.row.supersedes for new in cited}
        for sentence in _best_sentences(item, judgement, floors=floors)
    ]


def _usable(item: Hydrated) -> list[Sentence]:
    return [sentence for sentence in item.sentences if _is_statement(sentence.text)]


def _best_share(cited: Sequence[Hydrated], *, index: int) -> float:
    return max((s.shares[index] for item in cited for s in _usable(item)), default=0.0)


def _best_sentences(
    item: Hydrated, judgement: Judgement, *, floors: Sequence[float]
) -> list[Sentence]:
    """In the order of the body; of each question that this evidence answers.

    `floors` follows the questions: what a sentence must nearly cover, whatever its node has.
    """
    chosen: dict[int, Sentence] = {}
    usable = _usable(item)
    for index, coverage in enumerate(judgement.per_question):
        if item.evidence_id not in coverage.evidence_ids or coverage.score < LOW_BELOW:
            continue
        best = max((sentence.shares[index] for sentence in usable), default=0.0)
        least = SENTENCE_SHARE * max(best, floors[index])
        near = [s for s in usable if s.shares[index] >= least]
        near.sort(key=lambda sentence: (-sentence.shares[index], sentence.start))
        chosen.update((sentence.start, sentence) for sentence in near[:FACTS_PER_NODE])
    return [chosen[start] for start in sorted(chosen)]


def _is_statement(text: str) -> bool:
    return len(text) <= MAX_FACT_CHARACTERS and not _QUESTION_END.search(text)


def _is_open(text: str) -> object:
    return _QUESTION_END.search(text) or cues.UNDECIDED.search(text)


def _signals(told: Sequence[_Pick], *, anchor: Anchor) -> tuple[PackItem, ...]:
    """The newest first: decisions and changes, from current nodes."""
    current = [
        pick
        for pick in told
        if pick.item.row.status != "superseded"
        and _is_statement(pick.text)
        and cues.SIGNAL.search(pick.text)
    ]
    current.sort(key=lambda pick: (pick.item.row.end, pick.item.evidence_id), reverse=True)
    return _items(current, limit=MAX_SIGNALS, anchor=anchor)


def _matching(
    cited: Sequence[Hydrated],
    matches: Callable[[str], object],
    *,
    anchor: Anchor,
    without: Iterable[str] = (),
) -> tuple[PackItem, ...]:
    excluded = set(without)
    picks = [
        _Pick(item, sentence.text)
        for item in cited
        if item.row.status != "superseded"
        for sentence in item.sentences
        if len(sentence.text) <= MAX_FACT_CHARACTERS
        and matches(sentence.text)
        and normalise(sentence.text) not in excluded
    ]
    return _items(picks, limit=MAX_OTHERS, anchor=anchor)


def _items(picks: Sequence[_Pick], *, limit: int, anchor: Anchor) -> tuple[PackItem, ...]:
    """One item a text; the same sentence from several nodes cites them all."""
    by_text: dict[str, list[_Pick]] = {}
    for pick in picks:
        by_text.setdefault(normalise(pick.text), []).append(pick)
    return tuple(_item(group, anchor=anchor) for group in list(by_text.values())[:limit])


def _item(group: Sequence[_Pick], *, anchor: Anchor) -> PackItem:
    items = [pick.item for pick in group]
    leaves = [item for item in items if item.row.kind == "leaf"]
    newest = max(leaves or items, key=lambda item: (item.row.end, item.evidence_id))
    before = next((pick.before for pick in group if pick.before is not None), None)
    cited = [*items, before] if before is not None else items
    return PackItem(
        text=f"{group[0].text}"
        f"{dated(newest, anchor=anchor, chinese=has_han(group[0].text))}"
        f"{_told_before(before, anchor=anchor)}",
        evidence_ids=tuple(dict.fromkeys(item.evidence_id for item in cited)),
        freshness=newest.freshness,
        confidence=round(max(item.row.confidence for item in items), 4),
        verification=verification_of(items),
    )


def _told_before(before: Hydrated | None, *, anchor: Anchor) -> str:
    usable = _usable(before) if before is not None else []
    if before is None or not usable:
        return ""
    text = usable[0].text
    chinese = has_han(text)
    lead = "；此前：" if chinese else "; before: "
    return f"{lead}{text}{dated(before, anchor=anchor, chinese=chinese)}"


def dated(item: Hydrated, *, anchor: Anchor, chinese: bool) -> str:
    """When it was said, on the asker's calendar, in the language of the sentence.

    Empty for a summary: its sentences were said at times of their own.
    """
    if item.row.kind == "summary":
        return ""
    day = item.row.end.astimezone(anchor.zone)
    if chinese:
        return f"（{day.year}年{day.month}月{day.day}日）"
    return f" ({day:%Y-%m-%d})"


def verification_of(items: Sequence[Hydrated]) -> str:
    """The strictest policy that applies now; a policy for stale facts only where all are stale."""
    leaves = [item for item in items if item.row.kind == "leaf"]
    policies = {needed_verification(item) for item in leaves or items}
    if "none" in policies:
        return "none"
    return "verify_before_use" if "verify_before_use" in policies else "verify_if_stale"


def needed_verification(item: Hydrated) -> str:
    policy = item.row.verification_policy
    if policy == "verify_before_use" or (policy == "verify_if_stale" and item.stale):
        return policy
    return "none"


def _texts(items: Sequence[PackItem]) -> list[str]:
    return [item.text for item in items]


def _to_verify(
    facts: Sequence[PackItem], cited: Sequence[Hydrated], *, asked: str
) -> NextSource | None:
    marked = {i for fact in facts if fact.verification != "none" for i in fact.evidence_ids}
    found = (item for item in cited if item.evidence_id in marked)
    return next((source_of(item, asked=asked) for item in found), None)


def next_source(
    facts: Sequence[PackItem], *, cited: Sequence[Hydrated], judgement: Judgement
) -> NextSource | None:
    return _to_verify(facts, cited, asked=_asked(judgement)) or judgement.next_source


def _asked(judgement: Judgement) -> str:
    return " ".join(coverage.question for coverage in judgement.per_question)


def next_step(
    facts: Sequence[PackItem], *, cited: Sequence[Hydrated], judgement: Judgement
) -> NextStep:
    """Facts that must be verified come first; uncovered questions are never answered from memory."""
    asked = _asked(judgement)
    source = judgement.next_source
    if judgement.score < LOW_BELOW or not facts:
        if source is None or source.kind == "person":
            return NextStep("ask_user", source, phrase("ask", asked=asked))
        return NextStep("search_source", source, phrase("look", asked=asked))
    verify = _to_verify(facts, cited, asked=asked)
    if verify is not None:
        return NextStep("verify_live_state", verify, phrase("verify_first", asked=asked))
    memory = NextSource("memory", "memory", phrase("facts_answer", asked=asked))
    if source is not None and any(c.score < LOW_BELOW for c in judgement.per_question):
        kind = "ask_user" if source.kind == "person" else "search_source"
        return NextStep(kind, source, phrase("in_part", asked=asked))
    return NextStep("answer_from_memory", memory, phrase("covered", asked=asked))

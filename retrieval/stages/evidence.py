"""Chosen rows with their bodies become evidence: excerpts within the budget, and their support."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem.text.tokens import count_tokens
from retrieval.stages.calibration import chance
from retrieval.stages.candidates import Candidates
from retrieval.stages.condense import renumbered, with_short_summaries, without_repeats
from retrieval.stages.coverage import terms_of
from retrieval.stages.excerpts import cut_excerpt, cut_sentences
from retrieval.stages.hydrate import freshness_of, is_stale
from retrieval.stages.residual import settle_uncovered
from retrieval.stages.time_expressions import named_times
from retrieval.stages.yardstick import Yardstick, make_yardsticks
from retrieval.types import Anchor, Hydrated, Intent, NodeRow, Question, Ranked, Sentence
from workspaces.index.entries import date_words


@dataclass(frozen=True, slots=True)
class Assembled:
    """`tokens` of all excerpts together; `bodies` were read for them."""

    evidence: tuple[Hydrated, ...]
    tokens: int
    bodies: int


def assemble(
    chosen: Sequence[Ranked],
    *,
    rows: dict[UUID, NodeRow],
    bodies: dict[UUID, str],
    candidates: Candidates,
    intent: Intent,
    anchor: Anchor,
    token_budget: int,
) -> Assembled:
    """Evidence in the order of the ranking, without nodes whose body cannot be read."""
    yardsticks = make_yardsticks(candidates, intent=intent, rows=list(rows.values()))
    left = token_budget
    evidence: list[Hydrated] = []
    for item in chosen:
        if item.node_id not in rows or item.node_id not in bodies:
            continue
        built = _hydrated(
            item,
            row=rows[item.node_id],
            body=bodies[item.node_id],
            yardsticks=yardsticks,
            anchor=anchor,
            frame=(f"E{len(evidence) + 1}", left),
        )
        left -= count_tokens(built.excerpt)
        evidence.append(built)
    told = without_repeats(evidence)
    told = renumbered(with_short_summaries(told) if intent.is_broad else told)
    settled = settle_uncovered(told, yardsticks=yardsticks)
    tokens = sum(count_tokens(item.excerpt) for item in settled)
    return Assembled(settled, tokens, len(bodies))


def _hydrated(
    item: Ranked,
    *,
    row: NodeRow,
    body: str,
    yardsticks: Sequence[Yardstick],
    anchor: Anchor,
    frame: tuple[str, int],
) -> Hydrated:
    """`frame` is the evidence id and the tokens that are left."""
    evidence_id, left = frame
    sentences = cut_sentences(body, units=[yardstick.asked for yardstick in yardsticks])
    excerpt, span = cut_excerpt(body, sentences, tokens=left)
    present = terms_of(_searchable(row, body))
    shares = tuple(yardstick.share(present) for yardstick in yardsticks)
    return Hydrated(
        evidence_id=evidence_id,
        row=row,
        ranked=item,
        sentences=sentences,
        excerpt=excerpt,
        span=span,
        shares=shares,
        supports=_supports(item, yardsticks, shares=shares, sentences=sentences),
        in_time=tuple(_in_time(row, body, yardstick.question, anchor) for yardstick in yardsticks),
        stale=is_stale(row, anchor=anchor),
        freshness=freshness_of(row, anchor=anchor),
    )


def _searchable(row: NodeRow, body: str) -> str:
    """What the index knows of the node: its text, who said it, what it is about, and when."""
    names = [name for _, name in row.entities]
    dates = date_words(row.start) if row.kind == "leaf" else ""
    return "\n".join([body, row.title, row.actor, *names, dates])


def _supports(
    item: Ranked,
    yardsticks: Sequence[Yardstick],
    *,
    shares: Sequence[float],
    sentences: Sequence[Sentence],
) -> tuple[float, ...]:
    supports = []
    for index, (yardstick, share) in enumerate(zip(yardsticks, shares, strict=True)):
        covered = max((sentence.shares[index] for sentence in sentences), default=0.0)
        best = min(covered, share) if yardstick.subject else covered
        cosine = item.cosines[index] if index < len(item.cosines) else None
        supports.append(chance(yardstick.traits, share=share, sentence_share=best, cosine=cosine))
    return tuple(supports)


def _in_time(row: NodeRow, body: str, question: Question, anchor: Anchor) -> bool:
    """Observed in the question's range, or speaking of a day in it."""
    span = question.time_range
    if question.dated_by == row.node_id:
        return False
    if span is None or span.overlaps(row.start, row.end):
        return True
    told_at = Anchor(row.end, anchor.zone)
    return any(
        expression.range.start is not None
        and expression.range.end is not None
        and span.overlaps(expression.range.start, expression.range.end)
        for expression in named_times(body, told_at)
    )

"""The reading stages in their order: from a request to evidence and a verdict on it."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from uuid import UUID
from zoneinfo import ZoneInfo

from holamem.clock import now
from holamem.database.scope import reading_scope
from retrieval.definitions import RetrieveRequest
from retrieval.stages.branches import choose, drop_unrelated
from retrieval.stages.candidates import (
    Candidates,
    EmbeddedQuestions,
    embed_questions,
    find_candidates,
)
from retrieval.stages.event_times import with_event_times
from retrieval.stages.evidence import Assembled, assemble
from retrieval.stages.filters import build_filter, explicit_range
from retrieval.stages.fuse import fuse
from retrieval.stages.hydrate import load_rows, read_bodies
from retrieval.stages.intent import build_intent, read_query
from retrieval.stages.judge import best_support, judge
from retrieval.stages.lookups import look_up
from retrieval.stages.outside import answers_outside
from retrieval.stages.predecessors import with_predecessors
from retrieval.trace import Trace
from retrieval.types import (
    Anchor,
    Hydrated,
    Intent,
    Judgement,
    Lookups,
    NodeRow,
    Ranked,
    Reading,
    Scopes,
)
from workspaces.index.search import NodeFilter
from workspaces.models.tenancy import Workspace

EMBEDDED_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Findings:
    """`ranked` holds all candidates in their final order; `evidence` those that were kept."""

    intent: Intent
    candidates: Candidates
    ranked: tuple[Ranked, ...]
    evidence: tuple[Hydrated, ...]
    judgement: Judgement
    degraded: tuple[str, ...]
    tokens: int
    bodies_read: int


@cache
def _beside() -> ThreadPoolExecutor:
    """Threads that wait for the embedding model; to start one takes longer than to use it."""
    return ThreadPoolExecutor(max_workers=EMBEDDED_AT_ONCE, thread_name_prefix="question")


# A thread does not survive a fork; the child starts its own.
os.register_at_fork(after_in_child=_beside.cache_clear)


def anchor_of(workspace: Workspace, request: RetrieveRequest) -> Anchor:
    """The request's "now", else the date that memory is read as of, else the clock."""
    zone = ZoneInfo(request.timezone) if request.timezone else workspace.preferences.zone
    return Anchor(request.now or request.as_of or now(), zone)


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One request with everything that the stages share."""

    workspace: Workspace
    scopes: Scopes
    request: RetrieveRequest
    anchor: Anchor
    trace: Trace


def investigate(
    workspace: Workspace,
    *,
    scopes: Scopes,
    request: RetrieveRequest,
    anchor: Anchor,
    trace: Trace,
) -> Findings:
    """Reads only. Models and files are used between the database steps, never inside one."""
    inquiry = Inquiry(workspace, scopes, request, anchor, trace)
    reading = _understand(inquiry)
    embedding = _beside().submit(embed_questions, reading)  # the database needs the other core
    intent, known, where = _focus(inquiry, reading)
    with trace.stage("embed"):
        embedded = embedding.result()
    candidates, ranked, rows = _find(
        inquiry, reading=reading, embedded=embedded, intent=intent, where=where
    )
    assembled, unreadable = _hydrate(
        inquiry, ranked=ranked, rows=rows, candidates=candidates, intent=intent
    )
    judgement = _judge(
        inquiry, assembled, candidates=candidates, intent=intent, known=known, where=where
    )
    return Findings(
        intent=intent,
        candidates=candidates,
        ranked=tuple(ranked),
        evidence=assembled.evidence,
        judgement=judgement,
        degraded=candidates.degraded + (("bodies",) if unreadable else ()),
        tokens=assembled.tokens,
        bodies_read=assembled.bodies,
    )


def _understand(inquiry: Inquiry) -> Reading:
    request = inquiry.request
    with inquiry.trace.stage("intent"):
        return read_query(
            request.query,
            mode=request.mode,
            explicit=explicit_range(request),
            anchor=inquiry.anchor,
        )


def _focus(inquiry: Inquiry, reading: Reading) -> tuple[Intent, Lookups, NodeFilter]:
    request = inquiry.request
    with inquiry.trace.stage("lookups"):
        known = look_up(inquiry.workspace, scopes=inquiry.scopes, request=request)
        intent = build_intent(reading, categories=request.category_filter, known=known)
        return intent, known, build_filter(request, intent=intent, known=known)


def _find(
    inquiry: Inquiry,
    *,
    reading: Reading,
    embedded: EmbeddedQuestions,
    intent: Intent,
    where: NodeFilter,
) -> tuple[Candidates, list[Ranked], dict[UUID, NodeRow]]:
    """Candidates, their order, and the rows of the chosen, all as they were at one moment."""
    workspace, scopes = inquiry.workspace, inquiry.scopes
    with reading_scope(workspace, scopes):
        with inquiry.trace.stage("candidates"):
            candidates = find_candidates(
                workspace, scopes=scopes, reading=reading, embedded=embedded, where=where
            )
            candidates = with_event_times(candidates)
        ranked = _rank(inquiry, candidates=candidates, intent=intent, where=where)
        with inquiry.trace.stage("hydrate"):
            rows = load_rows(workspace, scopes=scopes, chosen=_kept(ranked))
    if intent.reading.kind == "delta":
        limit = inquiry.request.max_results
        with inquiry.trace.stage("predecessors"):
            ranked, rows = with_predecessors(
                workspace, scopes=scopes, ranked=ranked, rows=rows, limit=limit
            )
    return candidates, ranked, rows


def _kept(ranked: Sequence[Ranked]) -> list[Ranked]:
    return [item for item in ranked if not item.dropped]


def _rank(
    inquiry: Inquiry, *, candidates: Candidates, intent: Intent, where: NodeFilter
) -> list[Ranked]:
    request = inquiry.request
    with inquiry.trace.stage("fuse"):
        fused = fuse(candidates, intent=intent, query=request.query, as_of=request.as_of)
        # Who asks for exact evidence takes as much as fits; others only what is related.
        if request.mode != "exact_evidence" and not intent.is_broad:
            fused = drop_unrelated(fused)
    with inquiry.trace.stage("branches"):
        return choose(
            inquiry.workspace,
            scopes=inquiry.scopes,
            ranked=fused,
            candidates=candidates,
            intent=intent,
            where=where,
            limit=request.max_results,
        )


def _hydrate(
    inquiry: Inquiry,
    *,
    ranked: Sequence[Ranked],
    rows: dict[UUID, NodeRow],
    candidates: Candidates,
    intent: Intent,
) -> tuple[Assembled, bool]:
    """Evidence, and whether some body could not be read."""
    with inquiry.trace.stage("hydrate"):
        bodies, unreadable = read_bodies(list(rows.values()))
        assembled = assemble(
            _kept(ranked),
            rows=rows,
            bodies=bodies,
            candidates=candidates,
            intent=intent,
            anchor=inquiry.anchor,
            token_budget=inquiry.request.token_budget,
        )
    return assembled, unreadable


def _judge(
    inquiry: Inquiry,
    assembled: Assembled,
    *,
    candidates: Candidates,
    intent: Intent,
    known: Lookups,
    where: NodeFilter,
) -> Judgement:
    with inquiry.trace.stage("judge"):
        outside = answers_outside(
            inquiry.workspace,
            scopes=inquiry.scopes,
            candidates=candidates,
            intent=intent,
            where=where,
            best_inside=best_support(assembled.evidence),
        )
        return judge(
            assembled.evidence,
            candidates=candidates,
            intent=intent,
            known=known,
            found_outside=outside,
        )

"""The reading stages in their order: from a request to evidence and a verdict on it."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from holamem.clock import now
from retrieval.definitions import RetrieveRequest
from retrieval.stages.branches import choose
from retrieval.stages.candidates import Candidates, embed_questions, find_candidates
from retrieval.stages.evidence import assemble
from retrieval.stages.filters import build_filter, explicit_range
from retrieval.stages.fuse import fuse
from retrieval.stages.hydrate import load_rows, read_bodies
from retrieval.stages.intent import build_intent, read_query
from retrieval.stages.judge import best_support, judge
from retrieval.stages.lookups import look_up
from retrieval.stages.outside import answers_outside
from retrieval.trace import Trace
from retrieval.types import Anchor, Hydrated, Intent, Judgement, Lookups, Ranked, Scopes
from workspaces.models.tenancy import Workspace


@dataclass(frozen=True, slots=True)
class Findings:
    """`ranked` holds all candidates in their final order; `evidence` those that were kept."""

    intent: Intent
    known: Lookups
    candidates: Candidates
    ranked: tuple[Ranked, ...]
    evidence: tuple[Hydrated, ...]
    judgement: Judgement
    degraded: tuple[str, ...]
    tokens: int
    bodies_read: int


def anchor_of(workspace: Workspace, request: RetrieveRequest) -> Anchor:
    """The request's "now", else the date that memory is read as of, else the clock."""
    zone = ZoneInfo(request.timezone) if request.timezone else workspace.preferences.zone
    return Anchor(request.now or request.as_of or now(), zone)


def investigate(
    workspace: Workspace,
    *,
    scopes: Scopes,
    request: RetrieveRequest,
    anchor: Anchor,
    trace: Trace,
) -> Findings:
    """Reads only. Models and files are used between the database steps, never inside one."""
    with trace.stage("intent"):
        reading = read_query(
            request.query, mode=request.mode, explicit=explicit_range(request), anchor=anchor
        )
    with trace.stage("embed"):
        embedded = embed_questions(reading)
    with trace.stage("lookups"):
        known = look_up(workspace, scopes=scopes, request=request)
        intent = build_intent(reading, categories=request.category_filter, known=known)
        where = build_filter(request, intent=intent, known=known)
    with trace.stage("candidates"):
        candidates = find_candidates(
            workspace, scopes=scopes, reading=reading, embedded=embedded, where=where
        )
    with trace.stage("fuse"):
        fused = fuse(candidates, intent=intent, query=request.query, as_of=request.as_of)
    with trace.stage("branches"):
        ranked = choose(
            workspace,
            scopes=scopes,
            ranked=fused,
            candidates=candidates,
            intent=intent,
            where=where,
            limit=request.max_results,
        )
    with trace.stage("hydrate"):
        chosen = [item for item in ranked if not item.dropped]
        rows = load_rows(workspace, scopes=scopes, chosen=chosen)
        bodies, unreadable = read_bodies(list(rows.values()))
        assembled = assemble(
            chosen,
            rows=rows,
            bodies=bodies,
            candidates=candidates,
            anchor=anchor,
            token_budget=request.token_budget,
        )
    with trace.stage("judge"):
        outside = answers_outside(
            workspace,
            scopes=scopes,
            candidates=candidates,
            where=where,
            best_inside=best_support(assembled.evidence),
        )
        judgement = judge(
            assembled.evidence,
            candidates=candidates,
            intent=intent,
            known=known,
            found_outside=outside,
        )
    return Findings(
        intent=intent,
        known=known,
        candidates=candidates,
        ranked=tuple(ranked),
        evidence=assembled.evidence,
        judgement=judgement,
        degraded=candidates.degraded + (("bodies",) if unreadable else ()),
        tokens=assembled.tokens,
        bodies_read=assembled.bodies,
    )

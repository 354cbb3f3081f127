"""memory_retrieve: from a question to what is known, what supports it, and what is missing."""

from uuid import UUID

from holamem.ids import new_id
from holamem.metrics import stage_histogram
from holamem.providers.base import ChatModel
from retrieval.answer import RetrieveAnswer, Searched, Used
from retrieval.definitions import RetrieveRequest
from retrieval.explain import explain
from retrieval.investigate import Findings, anchor_of, investigate
from retrieval.stages.log import Record, write_log
from retrieval.stages.model_pack import Packed, pack_with_model
from retrieval.stages.pack import build_pack
from retrieval.stages.prompt import render_prompt
from retrieval.trace import Trace
from retrieval.types import Anchor, Scopes
from workspaces.models.tenancy import Workspace
from workspaces.services.model_calls import chat_model_of

_observe = stage_histogram("holamem_retrieval_seconds", "Time of each stage of a retrieval.")


def retrieve(workspace: Workspace, *, scopes: Scopes, request: RetrieveRequest) -> RetrieveAnswer:
    """Answer one question from this workspace and these scopes.

    At most six statements and `max_results` files, whatever the size of the memory. Writes the
    log and the gap ledger and nothing else. The same question on the same data gives the same
    answer, ids of the retrieval apart.
    """
    trace = Trace()
    retrieval_id = new_id()
    anchor = anchor_of(workspace, request)
    found = investigate(workspace, scopes=scopes, request=request, anchor=anchor, trace=trace)
    with trace.stage("pack"):
        model = chat_model_of(workspace, scope_id=_payer(workspace, scopes))
        packed = _packed(found, model=model, request=request, anchor=anchor)
    record = Record(
        retrieval_id=retrieval_id,
        request=request,
        intent=found.intent,
        judgement=found.judgement,
        evidence=found.evidence,
        degraded=found.degraded + packed.degraded,
    )
    with trace.stage("log"):
        gaps = write_log(workspace, scopes=scopes, record=record, timings_ms=trace.timings_ms)
    _observe(trace.timings_ms)
    return RetrieveAnswer(
        retrieval_id=retrieval_id,
        query=request.query,
        intent=found.intent,
        pack=packed.pack,
        evidence=found.evidence,
        gaps=gaps,
        judgement=found.judgement,
        used=_used(found, by_model=packed.by_model),
        searched=_searched(found),
        prompt=render_prompt(
            retrieval_id=retrieval_id,
            pack=packed.pack,
            gaps=gaps,
            language=found.intent.reading.language,
        ),
        degraded=record.degraded,
        explanation=explain(found, trace=trace) if request.explain else None,
    )


def _packed(
    found: Findings, *, model: ChatModel | None, request: RetrieveRequest, anchor: Anchor
) -> Packed:
    pack = build_pack(
        found.evidence,
        judgement=found.judgement,
        is_broad=found.intent.is_broad,
        anchor=anchor,
    )
    return pack_with_model(pack, model=model, found=found, request=request, anchor=anchor)


def _payer(workspace: Workspace, scopes: Scopes) -> UUID:
    """The end user whose memory is read with the shared one; else what the call took is nobody's."""
    if scopes is None or isinstance(scopes, str):
        return workspace.pk
    private = [scope for scope in scopes if scope != workspace.pk]
    return private[0] if len(private) == 1 else workspace.pk


def _used(found: Findings, *, by_model: bool) -> Used:
    reasons = {reason for item in found.evidence for reason in item.ranked.reasons}
    return Used(
        vector="vector" in reasons,
        lexical="lexical" in reasons,
        summaries=any(item.row.kind == "summary" for item in found.evidence),
        rerank=False,
        model=by_model,
    )


def _searched(found: Findings) -> Searched:
    return Searched(
        trees=len({node.tree_id for node in found.candidates.found.nodes}),
        nodes=len(found.candidates.found.nodes),
        bodies_read=found.bodies_read,
        tokens=found.tokens,
    )

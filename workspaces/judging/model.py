"""The judge that asks a chat model; rules that need no judgement stay rules."""

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from holamem.errors import MalformedReply
from holamem.providers.base import ChatModel
from holamem.text.languages import language_of
from holamem.text.secrets import mask_secrets
from workspaces.judging import offline_admission, prompts, replies
from workspaces.judging.base import (
    Admission,
    Assignment,
    ChildView,
    ChunkContext,
    Comparison,
    EntityCandidate,
    LeafView,
    NewEntity,
    SummaryDraft,
)
from workspaces.judging.support import Source, problem_with, source_of, unsupported

logger = logging.getLogger(__name__)

# What the write path's contract decides by itself; a model is not asked to confirm it.
_SETTLED = frozenset({"accepted", "failed_execution", "no_execution"})


class ModelJudge:
    """Raises ProviderError when the model has no answer; nothing is guessed in its place."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    @property
    def name(self) -> str:
        return self._chat.model_name

    def admit(self, chunk: ChunkContext) -> Admission:
        by_rule = offline_admission.admit(chunk)
        if by_rule.reason in _SETTLED:
            return by_rule
        reply = self._chat.complete_structured(
            system=prompts.ADMIT,
            user=prompts.as_data({"chunk": prompts.chunk_data(chunk)}),
            schema=replies.AdmissionReply,
            purpose="admission",
        ).value
        return Admission(reply.confidence, reply.reason)

    def assign(self, chunk: ChunkContext, *, candidates: Sequence[EntityCandidate]) -> Assignment:
        document = {
            "chunk": prompts.chunk_data(chunk),
            "candidates": prompts.candidate_data(candidates),
        }
        reply = self._chat.complete_structured(
            system=prompts.ASSIGN,
            user=prompts.as_data(document),
            schema=replies.AssignmentReply,
            purpose="assignment",
        ).value
        return _assignment(reply, chunk=chunk, candidates=candidates)

    def compare(
        self, chunk: ChunkContext, *, subject_key: str, leaves: Sequence[LeafView]
    ) -> Comparison:
        if not leaves:
            return Comparison("different", None, 1.0)
        document = {
            "chunk": prompts.chunk_data(chunk),
            "subject_key": subject_key,
            "leaves": prompts.leaf_data(leaves),
        }
        reply = self._chat.complete_structured(
            system=prompts.COMPARE,
            user=prompts.as_data(document),
            schema=replies.ComparisonReply,
            purpose="comparison",
        ).value
        return _comparison(reply, leaves)

    def summarise(
        self, *, tree_title: str, children: Sequence[ChildView], token_budget: int
    ) -> SummaryDraft:
        """Raises MalformedReply when the answer cites a node that is not among the children, or
        can't be a summary of them. A statement that its child does not support is left out.
        """
        if not children:
            raise ValueError("There is no text to summarise.")
        document = {
            "tree_title": tree_title,
            "token_budget": token_budget,
            "children": prompts.child_data(_in_time(children)),
        }
        reply = self._chat.complete_structured(
            system=prompts.SUMMARISE,
            user=prompts.as_data(document),
            schema=replies.SummaryReply,
            purpose="summary",
        ).value
        return _summary(reply, tree_title=tree_title, children=children)


def _in_time(children: Sequence[ChildView]) -> list[ChildView]:
    def order(child: ChildView) -> tuple[datetime, str]:
        return child.observed_at, child.node_id

    return sorted(children, key=order)


def _assignment(
    reply: replies.AssignmentReply, *, chunk: ChunkContext, candidates: Sequence[EntityCandidate]
) -> Assignment:
    """A title or summary that the chunk does not support is left empty: its own text stands in."""
    new = reply.new_entity
    source = _source_of_chunk(chunk, candidates)
    return Assignment(
        action=reply.action,
        entity_id=reply.entity_id,
        match_confidence=reply.match_confidence,
        new_entity=NewEntity(new.type, _masked(new.name), new.evidence) if new else None,
        create_confidence=reply.create_confidence,
        secondary=tuple(reply.secondary),
        title=_described(reply.title, chunk=chunk, source=source),
        summary=_described(reply.summary, chunk=chunk, source=source),
        labels=tuple(map(_masked, reply.labels)),
        subject_key=_masked(reply.subject_key).casefold(),
    )


def _source_of_chunk(chunk: ChunkContext, candidates: Sequence[EntityCandidate]) -> Source:
    """ "It" may have its name in an earlier turn or in the shortlist, "I" in the actor."""
    named = [name for c in candidates for name in (c.name, *c.aliases)]
    spoken = [chunk.actor, chunk.previous_turn or "", *chunk.earlier_user_texts]
    return Source(f"{chunk.text} {chunk.occurred_at:%Y %m %d %H %M}", " ".join([*named, *spoken]))


def _described(text: str, *, chunk: ChunkContext, source: Source) -> str:
    if language_of(text) != language_of(chunk.text) or unsupported(text, source=source):
        return ""
    return _masked(text)


def _comparison(reply: replies.ComparisonReply, leaves: Sequence[LeafView]) -> Comparison:
    """An id that was not offered names nothing, so the answer counts as unsure."""
    if reply.relation in ("different", "unsure"):
        return Comparison(reply.relation, None, reply.confidence)
    if reply.leaf_id not in {leaf.leaf_id for leaf in leaves}:
        return Comparison("unsure", None, 0.0)
    return Comparison(reply.relation, reply.leaf_id, reply.confidence)


def _summary(
    reply: replies.SummaryReply, *, tree_title: str, children: Sequence[ChildView]
) -> SummaryDraft:
    known = {child.node_id: child for child in children}
    if not {bullet.node_id for bullet in reply.bullets} <= known.keys():
        raise MalformedReply("A summary cited a node that it was not given.")
    told = _supported_bullets(reply, known=known, tree_title=tree_title)
    if not told:
        raise MalformedReply(
            "No statement of the summary is supported by its children.",
            detail={"kind": "unsupported"},
        )
    problem = problem_with("\n".join(text for text, _ in told), children)
    if problem is not None:
        raise MalformedReply(problem)
    return SummaryDraft(
        title=_supported(reply.title, children, tree_title=tree_title, otherwise=tree_title),
        summary=_supported(reply.summary, children, tree_title=tree_title, otherwise=told[0][0]),
        body="\n".join(f"- {text} [{node_id}]" for text, node_id in told),
        labels=tuple(map(_masked, reply.labels)),
    )


def _supported_bullets(
    reply: replies.SummaryReply, *, known: dict[str, ChildView], tree_title: str
) -> list[tuple[str, str]]:
    """(statement, node id) of what the cited child says; the log counts what was left out."""
    everything = source_of(known.values(), names=tree_title)
    told, left_out = [], Counter[str]()
    for bullet in reply.bullets:
        cited = source_of([known[bullet.node_id]], names=tree_title)
        why = unsupported(bullet.text, source=cited, named_in=everything)
        if why:
            left_out[why] += 1
        else:
            told.append((_masked(" ".join(bullet.text.split())), bullet.node_id))
    if left_out:
        logger.warning("summary.unsupported", extra={"left_out": dict(left_out)})
    return told


def _supported(text: str, children: Sequence[ChildView], *, tree_title: str, otherwise: str) -> str:
    source = source_of(children, names=tree_title)
    return otherwise if unsupported(text, source=source) else _masked(text)


def _masked(text: str) -> str:
    """Memory is masked before a model sees it; what the model adds may echo a key of its own."""
    return mask_secrets(text).text

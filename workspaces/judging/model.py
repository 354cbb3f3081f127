"""The judge that asks a chat model; rules that need no judgement stay rules."""

from collections.abc import Sequence
from datetime import datetime

from holamem.errors import MalformedReply
from holamem.providers.base import ChatModel
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
from workspaces.judging.support import has_its_numbers_from, problem_with

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
        return _assignment(reply)

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
        can't be a summary of them. A statement with a number that its child lacks is left out.
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


def _assignment(reply: replies.AssignmentReply) -> Assignment:
    new = reply.new_entity
    return Assignment(
        action=reply.action,
        entity_id=reply.entity_id,
        match_confidence=reply.match_confidence,
        new_entity=NewEntity(new.type, _masked(new.name), new.evidence) if new else None,
        create_confidence=reply.create_confidence,
        secondary=tuple(reply.secondary),
        title=_masked(reply.title),
        summary=_masked(reply.summary),
        labels=tuple(map(_masked, reply.labels)),
        subject_key=_masked(reply.subject_key).casefold(),
    )


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
    told = [
        (_masked(" ".join(bullet.text.split())), bullet.node_id)
        for bullet in reply.bullets
        if bullet.text.strip() and has_its_numbers_from(bullet.text, [known[bullet.node_id]])
    ]
    if not told:
        raise MalformedReply("No statement of the summary is supported by its children.")
    problem = problem_with("\n".join(text for text, _ in told), children)
    if problem is not None:
        raise MalformedReply(problem)
    return SummaryDraft(
        title=_supported(reply.title, children, otherwise=tree_title),
        summary=_supported(reply.summary, children, otherwise=told[0][0]),
        body="\n".join(f"- {text} [{node_id}]" for text, node_id in told),
        labels=tuple(map(_masked, reply.labels)),
    )


def _supported(text: str, children: Sequence[ChildView], *, otherwise: str) -> str:
    has_support = text.strip() and has_its_numbers_from(text, children)
    return _masked(text) if has_support else otherwise


def _masked(text: str) -> str:
    """Memory is masked before a model sees it; what the model adds may echo a key of its own."""
    return mask_secrets(text).text

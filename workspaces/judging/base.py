"""What the write path asks of a judge, and the values that pass between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Action = Literal["match_existing", "create_new", "fallback"]
Relation = Literal["same_memory", "supersedes_existing", "different", "unsure"]
ChildKind = Literal["leaf", "summary"]


@dataclass(frozen=True, slots=True)
class ChunkContext:
    """One chunk with what surrounds it.

    `earlier_user_texts` come from the same session, most recent last, at most 12.
    `succeeded` is set on tool results only. `is_recalled`: the chunk stands in recalled text.
    """

    text: str
    kind: str
    actor: str
    language: str
    occurred_at: datetime
    session_ref: str
    succeeded: bool | None
    has_execution_evidence: bool
    earlier_user_texts: tuple[str, ...]
    previous_turn: str | None
    workspace_name: str
    is_recalled: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """`confidence` is 0..1; `reason` is one short machine word.

    `judged_by` is set when another judge had to decide than the one that was asked.
    """

    confidence: float
    reason: str
    judged_by: str = ""


@dataclass(frozen=True, slots=True)
class EntityCandidate:
    """A shortlisted entity; `similarity` is 0..1."""

    entity_id: str
    type: str
    name: str
    aliases: tuple[str, ...]
    description: str
    similarity: float


@dataclass(frozen=True, slots=True)
class NewEntity:
    """`evidence` is a literal span of the chunk; `aliases` are relations that it tells."""

    type: str
    name: str
    evidence: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where a chunk belongs, and the words that describe its leaf.

    The two confidences are separate; `secondary` holds names, not ids.
    """

    action: Action
    entity_id: str | None
    match_confidence: float
    new_entity: NewEntity | None
    create_confidence: float
    secondary: tuple[str, ...]
    title: str
    summary: str
    labels: tuple[str, ...]
    subject_key: str


@dataclass(frozen=True, slots=True)
class LeafView:
    """An active leaf that a new chunk is compared with."""

    leaf_id: str
    text: str
    title: str
    subject_key: str
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class Comparison:
    """`leaf_id` names the leaf for `same_memory` and `supersedes_existing`, else None."""

    relation: Relation
    leaf_id: str | None
    confidence: float


@dataclass(frozen=True, slots=True)
class ChildView:
    """A leaf or a summary that is being summarised."""

    node_id: str
    kind: ChildKind
    title: str
    text: str
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """`body` is markdown bullets, each ending with a citation ` [<node_id>]`."""

    title: str
    summary: str
    body: str
    labels: tuple[str, ...]


class Judge(Protocol):
    """Judgements of the write path; `name` is recorded as the model of what it wrote."""

    @property
    def name(self) -> str: ...

    def admit(self, chunk: ChunkContext) -> Admission: ...

    def assign(
        self, chunk: ChunkContext, *, candidates: Sequence[EntityCandidate]
    ) -> Assignment: ...

    def compare(
        self, chunk: ChunkContext, *, subject_key: str, leaves: Sequence[LeafView]
    ) -> Comparison: ...

    def summarise(
        self, *, tree_title: str, children: Sequence[ChildView], token_budget: int
    ) -> SummaryDraft:
        """Every bullet cites one of the children; an empty list of children is a ValueError."""
        ...

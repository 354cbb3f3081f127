"""What the server answers, as dataclasses. Ids are strings; times are aware."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """What one piece of an event became; leaf and tree are None when it was rejected."""

    position: int
    outcome: str
    admission_confidence: float | None
    reason: str | None
    leaf_id: str | None
    tree_id: str | None
    tree_key: str | None
    entity: str | None
    decision: str | None


@dataclass(frozen=True, slots=True)
class Remembered:
    """`chunks` are there once the event is processed; without `wait` it is only received.

    `event_id` is None after a dry run. `error` says why a dead event could not be processed.
    """

    status: str
    event_id: str | None = None
    chunks: tuple[ChunkResult, ...] = ()
    error: str = ""
    is_replayed: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    event_id: str
    status: str


@dataclass(frozen=True, slots=True)
class ReceivedBatch:
    """In the order of the events that were sent."""

    events: tuple[Received, ...]


@dataclass(frozen=True, slots=True)
class TimeRange:
    start: datetime | None = field(default=None, metadata={"key": "from"})
    end: datetime | None = field(default=None, metadata={"key": "to"})


@dataclass(frozen=True, slots=True)
class Intent:
    kind: str
    mode: str
    categories: tuple[str, ...]
    time_range: TimeRange | None
    entities: tuple[str, ...]
    sub_questions: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class PackItem:
    """One thing that may be said from memory; `evidence_ids` are in the answer's evidence."""

    text: str
    evidence_ids: tuple[str, ...]
    freshness: str
    confidence: float
    verification: str


@dataclass(frozen=True, slots=True)
class NextSource:
    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class NextStep:
    type: str
    source: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class RetrievalPack:
    known_facts: tuple[PackItem, ...]
    recent_high_signal_items: tuple[PackItem, ...]
    constraints: tuple[PackItem, ...]
    blockers: tuple[PackItem, ...]
    open_questions: tuple[PackItem, ...]
    recommended_next_source: NextSource | None
    recommended_next_step: NextStep


@dataclass(frozen=True, slots=True)
class Citation:
    """`start` and `end` are characters into the markdown body."""

    body_path: str
    body_sha256: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A leaf or a summary that supports items of the pack."""

    evidence_id: str
    node_kind: str
    node_id: str
    tree_id: str
    tree_key: str
    category: str
    level: int
    title: str
    summary: str
    excerpt: str
    score: float
    reasons: tuple[str, ...]
    observed_at: datetime
    time_range: TimeRange
    status: str
    stale: bool
    freshness: str
    confidence: float
    verification_policy: str
    entities: tuple[Any, ...]
    labels: tuple[Any, ...]
    citation: Citation
    children_count: int
    metadata: Mapping[str, Any]
    sources: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of the question that memory has no sufficient evidence for."""

    gap_id: str
    question: str
    kind: str
    reason: str
    suggested_source: NextSource | None


@dataclass(frozen=True, slots=True)
class Coverage:
    level: str
    score: float


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The answer to one question. `prompt` is the whole as text for a model."""

    retrieval_id: str
    query: str
    intent: Intent
    retrieval_pack: RetrievalPack
    evidence: tuple[Evidence, ...]
    gaps: tuple[Gap, ...]
    coverage: Coverage
    prompt: str
    degraded: tuple[str, ...]
    explain: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Browsed:
    """One place of the tree; `node` is None at the root, `parents` come root first."""

    node: Mapping[str, Any] | None
    parents: tuple[Mapping[str, Any], ...]
    children: tuple[Mapping[str, Any], ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class BoundWorkspace:
    slug: str


@dataclass(frozen=True, slots=True)
class Me:
    """What a key says about itself; `workspace` when it is bound to one."""

    workspace: BoundWorkspace | None
    permissions: tuple[str, ...]

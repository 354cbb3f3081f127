"""What passes between the stages of a retrieval."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID
from zoneinfo import ZoneInfo

Kind = Literal["fact_lookup", "procedure_lookup", "briefing", "planning", "delta"]
Mode = Literal["broad_summary", "exact_evidence"]
Level = Literal["none", "low", "medium", "high"]
GapKind = Literal["missing", "stale", "conflicting", "low_confidence", "outside_time_range"]
# Ranges are half open here and closed in SQL; the database keeps microseconds.
TICK = timedelta(microseconds=1)
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From `start` (inclusive) to `end` (exclusive), aware; an open end is None."""

    start: datetime | None = None
    end: datetime | None = None

    def holds(self, moment: datetime) -> bool:
        after_start = self.start is None or moment >= self.start
        return after_start and (self.end is None or moment < self.end)

    def overlaps(self, start: datetime, end: datetime) -> bool:
        """Whether it shares a moment with the closed span from `start` to `end`."""
        return (self.end is None or start < self.end) and (self.start is None or end >= self.start)


@dataclass(frozen=True, slots=True)
class Anchor:
    """What "yesterday" counts from, and in whose calendar."""

    now: datetime
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class Question:
    """One question of the query; `time_range` is what its own words name.

    `dated_by` is the leaf of an event that they name, which stands outside of the range.

    `terms` are its content terms as the index knows them; `topic_terms` leave out those that
    only name a time. `names` are spellings that look like names of something (capitalised,
    quoted, or identifiers), folded. `last_terms`: of a pasted conversation, those of its last
    line.
    """

    text: str
    terms: tuple[str, ...]
    topic_terms: tuple[str, ...]
    names: tuple[str, ...] = ()
    time_range: TimeRange | None = None
    dated_by: UUID | None = None
    last_terms: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """An entity that the query mentions; `spellings` are the names and aliases that stand in it."""

    entity_id: UUID
    name: str
    slug: str
    type: str
    spellings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provider:
    """An outside system that the workspace fetches from."""

    provider: str
    account: str


@dataclass(frozen=True, slots=True)
class Lookups:
    """What the workspace knows about the names in the request.

    `tree_ids` and `entity_ids` resolve the request's filters; None where it has no such filter.
    """

    entities: tuple[EntityMatch, ...] = ()
    tree_ids: tuple[UUID, ...] | None = None
    entity_ids: tuple[UUID, ...] | None = None
    providers: tuple[Provider, ...] = ()
    trees: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """The query read by language rules alone, before the workspace is asked anything.

    `learned`: the question is about when memory learnt something, not about when it was so.
    `prefers_recent`: the question asks for the newest without naming a range.
    `asks_history`: it asks how it was before something newer took its place. `as_of`: how
    things stood at that moment.
    """

    kind: Kind
    mode: Mode
    confidence: float
    questions: tuple[Question, ...]
    time_range: TimeRange | None
    learned: bool
    prefers_recent: bool
    language: str
    about_integration: bool
    asks_history: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """The reading with the workspace's entities and the categories that are searched."""

    reading: Reading
    categories: tuple[str, ...]
    entities: tuple[EntityMatch, ...]

    @property
    def is_broad(self) -> bool:
        return self.reading.mode == "broad_summary"


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its scores. `parts` names what each contribution was.

    `question_scores` follows the questions; `dropped` says why it is no evidence ("" if kept).
    """

    node_id: UUID
    kind: str
    score: float
    question_scores: tuple[float, ...]
    cosines: tuple[float | None, ...]
    reasons: tuple[str, ...]
    parts: dict[str, float] = field(default_factory=dict)
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """An event that ended in the leaf."""

    event_id: UUID
    occurred_at: datetime
    metadata: dict[str, object]


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A leaf or a summary as the database has it; `start` and `end` as in the search index.

    `level` counts from the root (1) and is 0 for a leaf.
    `conflicts` are other active leaves of the same tree and subject with another text;
    `supersedes` is the leaf whose place this one took.
    """

    node_id: UUID
    kind: str
    tree_id: UUID
    tree_key: str
    tree_title: str
    category: str
    provider: str
    account: str
    level: int
    title: str
    summary: str
    body_path: str
    body_sha256: str
    start: datetime
    end: datetime
    status: str
    confidence: float
    verification_policy: str
    staleness_policy: str
    stale_after_days: int | None
    labels: tuple[str, ...]
    language: str
    actor: str
    subject_key: str
    fingerprint: str
    children_count: int
    entities: tuple[tuple[UUID, str], ...]
    metadata: dict[str, object]
    sources: tuple[Source, ...]
    conflicts: tuple[UUID, ...]
    supersedes: UUID | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a body: offsets into the markdown after the front matter.

    `text` is shown (citations of summary bullets removed); `shares` follows the questions.
    """

    start: int
    end: int
    text: str
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Hydrated:
    """A node that was chosen and whose body was read.

    `sentences` are all of its body's; `excerpt` is cut around the best of them and `span` is
    its place in the body. `shares` (0..1 per question): idf-weighted share of the question's
    terms, beside its subject's name, that this node covers.
    """

    evidence_id: str
    row: NodeRow
    ranked: Ranked
    sentences: tuple[Sentence, ...]
    excerpt: str
    span: tuple[int, int]
    shares: tuple[float, ...]
    supports: tuple[float, ...]
    in_time: tuple[bool, ...]
    stale: bool
    freshness: str


@dataclass(frozen=True, slots=True)
class NextSource:
    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class FoundGap:
    """A part of the query that memory cannot answer well, before it has a place in the ledger."""

    question: str
    kind: GapKind
    reason: str
    suggested_source: NextSource | None
    terms: tuple[str, ...]
    vector: tuple[float, ...] | None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionCoverage:
    """`score` is the calibrated chance (0..1) that the evidence answers the question."""

    question: str
    level: Level
    score: float
    evidence_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    level: Level
    score: float
    per_question: tuple[QuestionCoverage, ...]
    gaps: tuple[FoundGap, ...]
    next_source: NextSource | None

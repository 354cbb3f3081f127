"""What the pages read of the gap ledger and the retrieval log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count

from holamem.database.scope import workspace_scope
from retrieval.models import Gap, RetrievalLog
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, is_withheld
from workspaces.services.paging import PAGE_SIZE, Page, read_page

RECENT_QUESTIONS = 8
MAX_USERS = 200
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class GapRow:
    """`answered_by` is the leaf that closed it, `source` where an answer may be found."""

    id: UUID
    question: str
    kind: str
    reason: str
    source: dict[str, str]
    times_asked: int
    first_asked_at: datetime
    last_asked_at: datetime
    status: str
    answered_by: UUID | None
    answer_title: str


@dataclass(frozen=True, slots=True)
class QuestionRow:
    query: str
    coverage: str
    score: float
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """When the first event and the first question arrived; None while they are awaited."""

    event_at: datetime | None
    question_at: datetime | None

    @property
    def are_done(self) -> bool:
        return self.event_at is not None and self.question_at is not None


def first_steps(workspace: Workspace, *, scopes: Scopes) -> FirstSteps:
    with workspace_scope(workspace, scopes):
        events = workspace.events.order_by("id").values_list("received_at", flat=True)
        questions = RetrievalLog.objects.filter(workspace=workspace).order_by("created_at")
        return FirstSteps(events.first(), questions.values_list("created_at", flat=True).first())


def list_gap_rows(
    workspace: Workspace,
    *,
    scopes: Scopes,
    status: str,
    page: int,
    kind: str = "",
    size: int = PAGE_SIZE,
) -> Page[GapRow]:
    """Most wanted first; `kind` empty: of every kind. One query."""
    named = {"status": status, "kind": kind} if kind else {"status": status}
    with workspace_scope(workspace, scopes):
        rows = (
            Gap.objects.filter(workspace=workspace, **named)
            .select_related("answered_by")
            .defer("embedding")
            .order_by("-times_asked", "-id")
        )
        found = read_page(rows, number=page, size=size)
        return found.map(lambda gaps: [_gap_row(gap) for gap in gaps])


def answer_of(workspace: Workspace, *, scopes: Scopes, gap: Gap) -> SourceLeaf | None:
    """The leaf that closed the gap; None where there is none, or where its words are withheld."""
    if gap.answered_by_id is None:
        return None
    with workspace_scope(workspace, scopes):
        leaf = workspace.leaves.filter(id=gap.answered_by_id).first()
    return None if leaf is None or is_withheld(leaf) else leaf


def gap_counts(workspace: Workspace, *, scopes: Scopes) -> dict[str, int]:
    with workspace_scope(workspace, scopes):
        rows = Gap.objects.filter(workspace=workspace).order_by().values("status")
        return dict(rows.annotate(n=Count("id")).values_list("status", "n"))


def recent_questions(workspace: Workspace, *, scopes: Scopes) -> list[QuestionRow]:
    """Newest first."""
    with workspace_scope(workspace, scopes):
        rows = RetrievalLog.objects.filter(workspace=workspace).order_by("-created_at")
        return [
            QuestionRow(row.query, row.coverage_level, row.coverage_score, row.created_at)
            for row in rows[:RECENT_QUESTIONS]
        ]


def end_user_refs(workspace: Workspace) -> list[str]:
    """Whom one may ask as, by name; the first MAX_USERS."""
    with workspace_scope(workspace):
        users = workspace.end_users.filter(erased_at=None).order_by("ref")
        return list(users.values_list("ref", flat=True)[:MAX_USERS])


def _gap_row(gap: Gap) -> GapRow:
    answer = gap.answered_by
    gone = answer is None or answer.status in ("erasing", "erased")
    return GapRow(
        id=gap.id,
        question=gap.question,
        kind=gap.kind,
        reason=gap.reason,
        source=gap.suggested_source or {},
        times_asked=gap.times_asked,
        first_asked_at=gap.first_asked_at,
        last_asked_at=gap.last_asked_at,
        status=gap.status,
        answered_by=gap.answered_by_id,
        answer_title="" if gone or answer is None else answer.title,
    )

"""Stage 10: the gap ledger and the log, in one transaction; the only writes of a retrieval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from holamem.database.one_trip import write_step
from holamem.database.rows import insert_statement
from holamem.database.scope import workspace_scope
from holamem.database.statements import Statement, run_together
from holamem.text.secrets import mask_secrets
from retrieval.answer import AnswerGap
from retrieval.definitions import RetrieveRequest
from retrieval.gaps import own_scope, record_gaps
from retrieval.models import RetrievalLog
from retrieval.types import Hydrated, Intent, Judgement, Scopes
from workspaces.models.tenancy import Workspace

# The asker does not wait until the disk has the log: a power cut may take the newest entries, whole
# ones, and nothing of the memory rests on them.
_WITHOUT_WAITING = Statement("SET LOCAL synchronous_commit TO off", [])


@dataclass(frozen=True, slots=True)
class Record:
    """What is kept of a retrieval, apart from its gaps."""

    retrieval_id: UUID
    request: RetrieveRequest
    intent: Intent
    judgement: Judgement
    evidence: Sequence[Hydrated]
    degraded: tuple[str, ...]


def write_log(
    workspace: Workspace, *, scopes: Scopes, record: Record, timings_ms: Mapping[str, float]
) -> tuple[AnswerGap, ...]:
    """The gaps with their places in the ledger."""
    if not record.judgement.gaps:
        statements = _statements(workspace, scopes=scopes, record=record, timings_ms=timings_ms)
        write_step(workspace, scopes, statements=statements)
        return ()
    with workspace_scope(workspace, scopes):
        gaps = tuple(record_gaps(workspace, scopes=scopes, gaps=record.judgement.gaps))
        run_together(
            _statements(workspace, scopes=scopes, record=record, timings_ms=timings_ms, gaps=gaps)
        )
    return gaps


def _statements(
    workspace: Workspace,
    *,
    scopes: Scopes,
    record: Record,
    timings_ms: Mapping[str, float],
    gaps: Sequence[AnswerGap] = (),
) -> list[Statement]:
    log = RetrievalLog(
        id=record.retrieval_id,
        workspace=workspace,
        scope_id=own_scope(workspace, scopes),
        query=mask_secrets(record.request.query).text,
        request=_stored(record.request),
        intent=record.intent.reading.kind,
        coverage_level=record.judgement.level,
        coverage_score=round(record.judgement.score, 4),
        node_ids=[str(item.row.node_id) for item in record.evidence],
        gap_ids=[str(gap.gap_id) for gap in gaps],
        timings_ms=dict(timings_ms),
        degraded=list(record.degraded),
    )
    return [_WITHOUT_WAITING, insert_statement([log])]


def _stored(request: RetrieveRequest) -> dict[str, Any]:
    """What was asked for beside the query, which has its own (masked) column."""
    return request.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"query"})

"""The job topics that the read side handles: a new leaf may answer what was asked before."""

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from holamem.database.scope import ALL_SCOPES, workspace_scope
from retrieval.definitions import RetrieveRequest
from retrieval.filling import close_named
from retrieval.gaps import close_answered
from retrieval.investigate import anchor_of, investigate
from retrieval.models import Gap
from retrieval.stages.calibration import LOW_BELOW
from retrieval.trace import Trace
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.jobs import ClaimedJob, register_batch_handler, register_handler

logger = logging.getLogger(__name__)

# Open gaps that are asked again for one new leaf: the nearest ones.
RECHECKED = 6
# Farther gaps by vector are about something else.
NEAR_COSINE = 0.80
NODES_TOGETHER = 32  # a turn of one workspace

# Raw SQL: distances between a gap and a stored vector, and words of one against the other.
_NEAR_GAPS = """
SELECT g.id, g.scope_id, g.question
  FROM retrieval_gap g
  JOIN workspaces_lexemeentry e ON e.workspace_id = %(workspace)s AND e.node_id = %(node)s
  LEFT JOIN workspaces_vectorentry v ON v.workspace_id = %(workspace)s AND v.node_id = %(node)s
 WHERE g.workspace_id = %(workspace)s AND g.status = 'open' AND e.kind = 'leaf'
   AND e.status = 'active' AND (e.scope_id = %(workspace)s OR g.scope_id = e.scope_id)
   AND (v.id IS NULL OR g.embedding IS NULL
        OR vector_dims(g.embedding) <> vector_dims(v.embedding)
        OR 1 - (g.embedding <=> v.embedding) >= %(near)s)
 ORDER BY CASE WHEN vector_dims(g.embedding) = vector_dims(v.embedding)
               THEN g.embedding <=> v.embedding END NULLS LAST, g.times_asked DESC, g.id
 LIMIT %(limit)s
"""


def register() -> None:
    """Called once when the app is ready."""
    register_handler(Job.Topic.NODE_INDEXED, recheck_gaps)
    register_batch_handler(Job.Topic.NODE_INDEXED, recheck_all_gaps, size=NODES_TOGETHER)


def recheck_all_gaps(workspace: Workspace, jobs: Sequence[ClaimedJob]) -> dict[UUID, Exception]:
    """For several new nodes; errors by job. Mostly nothing is open, which one look tells."""
    with workspace_scope(workspace, ALL_SCOPES):
        if not workspace.gaps.filter(status=Gap.Status.OPEN).exists():
            return {}
    errors: dict[UUID, Exception] = {}
    for job in jobs:
        try:
            recheck_gaps(workspace, job)
        except Exception as error:  # noqa: BLE001 - it is this job's, and stops no other
            errors[job.id] = error
    return errors


def recheck_gaps(workspace: Workspace, job: ClaimedJob) -> None:
    """Ask the open gaps near a new leaf again; close those that the leaf answers.

    A leaf in the shared scope may answer anybody's question, a private one only its user's.
    Quiet when the node is a summary, or gone.
    """
    close_named(workspace, node_id=job.target_id)
    for gap_id, scope_id, question in near_gaps(workspace, node_id=job.target_id):
        scopes = sorted({workspace.pk, scope_id})
        if answers(workspace, scopes=scopes, question=question, leaf_id=job.target_id):
            close_answered(workspace, scopes=scopes, gap_id=gap_id, leaf_id=job.target_id)
            logger.info("gap.answered", extra={"gap_id": str(gap_id)})


def near_gaps(workspace: Workspace, *, node_id: UUID) -> list[tuple[UUID, UUID, str]]:
    """Id, scope and question, the nearest first."""
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "node": node_id,
        "near": NEAR_COSINE,
        "limit": RECHECKED,
    }
    # Gaps of every scope: the statement itself keeps a private leaf to its own user's gaps.
    with workspace_scope(workspace, ALL_SCOPES), connection.cursor() as cursor:
        cursor.execute(_NEAR_GAPS, values)
        return list(cursor.fetchall())


def answers(workspace: Workspace, *, scopes: list[UUID], question: str, leaf_id: UUID) -> bool:
    """Whether the question, asked now, is covered, and by this leaf."""
    request = RetrieveRequest(query=question, reasoning="off")
    found = investigate(
        workspace,
        scopes=scopes,
        request=request,
        anchor=anchor_of(workspace, request),
        trace=Trace(),
    )
    cited = {
        evidence_id
        for coverage in found.judgement.per_question
        if coverage.score >= LOW_BELOW
        for evidence_id in coverage.evidence_ids
    }
    return found.judgement.score >= LOW_BELOW and any(
        item.row.node_id == leaf_id and item.evidence_id in cited for item in found.evidence
    )

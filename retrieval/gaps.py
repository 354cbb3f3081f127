"""The gap ledger: what was asked and memory lacked. Same question, same gap."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from holamem.clock import now
from holamem.database.prepared import fetch_rows
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, NotFound
from holamem.ids import new_id
from holamem.text.languages import language_of
from holamem.text.normalise import normalise
from holamem.text.secrets import mask_secrets
from retrieval.answer import AnswerGap
from retrieval.models import Gap
from retrieval.stages.intent import names_in
from retrieval.types import FoundGap, Scopes
from workspaces.index.search import scope_list, vector_literal
from workspaces.models.tenancy import Workspace

# Two questions that are this near by vector, and name the same things, are one. Measured with
# the packaged model: English paraphrases 0.91 to 0.99, questions on another matter up to 0.925;
# Chinese 0.976 to 0.996 and up to 0.962. When in doubt they stay two.
SAME_QUESTION_COSINE = {"en": 0.93, "zh": 0.97}
# How many neighbours are looked at: names are compared outside of the database.
NEAREST = 5
LISTED = 1_000

_NUMBER = re.compile(r"\d+")


def own_scope(workspace: Workspace, scopes: Scopes) -> UUID:
    """Where a question belongs: its one end user's scope, else the shared one.

    A question asked over everyone's memory names nobody, so it is kept with the shared ones.
    """
    if scopes is None or isinstance(scopes, str):
        return workspace.pk
    private = [scope for scope in scopes if scope != workspace.pk]
    if len(private) == 1:
        return private[0]
    return workspace.pk if workspace.pk in scopes or not private else private[0]


def question_key(gap: FoundGap) -> str:
    """SHA-256 of the sorted content terms: word order and filler do not make another question."""
    words = sorted(set(gap.terms)) or [normalise(gap.question).casefold()]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def record_gaps(
    workspace: Workspace, *, scopes: Scopes, gaps: Sequence[FoundGap]
) -> list[AnswerGap]:
    """Count each gap on its open entry, or open one; inside the caller's step.

    What was found in everyone's memory names people and systems of single end users, so the
    shared ledger keeps the question of it without its source.
    """
    scope_id = own_scope(workspace, scopes)
    kept = [replace(gap, suggested_source=None) if scopes == ALL_SCOPES else gap for gap in gaps]
    ids = [_record(workspace, scope_id=scope_id, gap=gap) for gap in kept]
    return [
        AnswerGap(
            gap_id=gap_id,
            question=gap.question,
            kind=gap.kind,
            reason=gap.reason,
            suggested_source=gap.suggested_source,
        )
        for gap_id, gap in zip(ids, gaps, strict=True)
    ]


def _record(workspace: Workspace, *, scope_id: UUID, gap: FoundGap) -> UUID:
    key = question_key(gap)
    known = _similar_open(workspace, scope_id=scope_id, gap=gap, key=key)
    return _upsert(workspace, scope_id=scope_id, gap=gap, key=known or key)


# Raw SQL: the distance is over halfvec of no fixed dimension; another dimension is no match.
_NEAREST_OPEN = """
SELECT question_key, question, 1 - (embedding <=> %(vector)s::halfvec) AS cosine
  FROM retrieval_gap
 WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND status = 'open'
   AND vector_dims(embedding) = %(dimension)s
 ORDER BY (question_key = %(key)s) DESC, embedding <=> %(vector)s::halfvec, id
 LIMIT %(limit)s
"""
_UPSERT = """
INSERT INTO retrieval_gap (id, workspace_id, scope_id, question, question_key, kind, reason,
                           suggested_source, times_asked, first_asked_at, last_asked_at, status,
                           embedding)
VALUES (%(id)s, %(workspace)s, %(scope)s, %(question)s, %(key)s, %(kind)s, %(reason)s,
        %(source)s::jsonb, 1, %(at)s, %(at)s, 'open', %(vector)s::halfvec)
ON CONFLICT (workspace_id, scope_id, question_key) WHERE status = 'open'
DO UPDATE SET times_asked = retrieval_gap.times_asked + 1,
              last_asked_at = EXCLUDED.last_asked_at, kind = EXCLUDED.kind,
              reason = EXCLUDED.reason,
              suggested_source = coalesce(EXCLUDED.suggested_source,
                                          retrieval_gap.suggested_source),
              embedding = coalesce(EXCLUDED.embedding, retrieval_gap.embedding)
RETURNING id
"""


def _similar_open(workspace: Workspace, *, scope_id: UUID, gap: FoundGap, key: str) -> str | None:
    """The key of an open gap that asks the same in other words."""
    if gap.vector is None:
        return None
    rows = fetch_rows(
        _NEAREST_OPEN,
        {
            "vector": vector_literal(gap.vector),
            "dimension": len(gap.vector),
            "workspace": workspace.pk,
            "scope": scope_id,
            "key": key,
            "limit": NEAREST,
        },
    )
    least = SAME_QUESTION_COSINE[language_of(gap.question)]
    for other_key, question, cosine in rows:
        same = cosine >= least and same_subject(gap.question, question)
        if other_key == key or same:
            return str(other_key)
    return None


def same_subject(first: str, second: str) -> bool:
    """Questions about two people are near by vector and still two; so are those with numbers."""
    return _identity(first) == _identity(second)


def _identity(question: str) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(names_in(question)), frozenset(_NUMBER.findall(question))


def _upsert(workspace: Workspace, *, scope_id: UUID, gap: FoundGap, key: str) -> UUID:
    """ON CONFLICT: two agents may ask the same new question at once."""
    at = now()
    source = None if gap.suggested_source is None else json.dumps(asdict(gap.suggested_source))
    [(gap_id,)] = fetch_rows(
        _UPSERT,
        {
            "id": new_id(),
            "workspace": workspace.pk,
            "scope": scope_id,
            "question": mask_secrets(gap.question).text,
            "key": key,
            "kind": gap.kind,
            "reason": gap.reason,
            "source": source,
            "at": at,
            "vector": None if gap.vector is None else vector_literal(gap.vector),
        },
    )
    return UUID(str(gap_id))


def list_gaps(workspace: Workspace, *, scopes: Scopes, status: str | None = None) -> list[Gap]:
    """Most wanted first, at most 1,000; without their vectors."""
    with workspace_scope(workspace, scopes):
        rows = _gaps(workspace, scopes).defer("embedding").order_by("-times_asked", "-id")
        return list((rows if status is None else rows.filter(status=status))[:LISTED])


def count_open_gaps(workspace: Workspace, *, scopes: Scopes) -> int:
    with workspace_scope(workspace, scopes):
        return _gaps(workspace, scopes).filter(status=Gap.Status.OPEN).count()


def get_gap(workspace: Workspace, *, scopes: Scopes, gap_id: UUID) -> Gap:
    """Raises NotFound, in the same words for what is not there and what is not yours."""
    with workspace_scope(workspace, scopes):
        gap = _gaps(workspace, scopes).defer("embedding").filter(id=gap_id).first()
    if gap is None:
        raise NotFound("There is no such gap.")
    return gap


def dismiss_gap(workspace: Workspace, *, scopes: Scopes, gap_id: UUID) -> Gap:
    """Close an open gap that nobody needs to fill. Raises NotFound, Conflict."""
    gap = get_gap(workspace, scopes=scopes, gap_id=gap_id)
    with workspace_scope(workspace, scopes):
        closed = _close(workspace, gap_id=gap_id, status=Gap.Status.DISMISSED, at=now())
    if not closed:
        raise Conflict(f"This gap is {gap.status} already.")
    return get_gap(workspace, scopes=scopes, gap_id=gap_id)


def close_answered(workspace: Workspace, *, scopes: Scopes, gap_id: UUID, leaf_id: UUID) -> bool:
    """Close an open gap with the leaf that answers it; False when it was closed meanwhile."""
    with workspace_scope(workspace, scopes):
        return _close(
            workspace, gap_id=gap_id, status=Gap.Status.ANSWERED, at=now(), leaf_id=leaf_id
        )


def _close(
    workspace: Workspace,
    *,
    gap_id: UUID,
    status: str,
    at: datetime,
    leaf_id: UUID | None = None,
) -> bool:
    open_gap = workspace.gaps.filter(id=gap_id, status=Gap.Status.OPEN)
    return open_gap.update(status=status, closed_at=at, answered_by_id=leaf_id) == 1


def _gaps(workspace: Workspace, scopes: Scopes) -> QuerySet[Gap]:
    rows = workspace.gaps.all()
    if scopes == ALL_SCOPES:
        return rows
    return rows.filter(scope_id__in=scope_list(workspace, scopes))

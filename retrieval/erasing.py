"""Traces of erased memory in the read side's own tables: questions asked, and gaps.

A question that was answered with an erased leaf goes; so does one, or a gap, that holds a word
which nothing in memory says any more: it can only have come with what is erased. Rows, counts
and ids stay. A gap whose question goes is closed; whoever still misses it asks again.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, eraser_scope, workspace_scope
from holamem.text.languages import has_han
from holamem.text.segment import query_terms, terms, to_tsquery_literal
from retrieval.models import Gap, RetrievalLog
from workspaces.index.entries import scope_lexeme
from workspaces.models.tenancy import Workspace
from workspaces.services.erasure.cleaners import ErasedMemory, register_cleaner

# Shorter pieces of words stand inside other words.
SHORTEST_TERM = 3
BATCH = 200
LATEST = 1_000  # questions that a page may show; older ones follow in the job
MAX_TERMS = 2_000  # each is one probe of the index; a leaf has a few hundred at most

# Raw SQL: the ORM has no expression for one term query after another.
_REMAINING = """
SELECT t.term FROM unnest(%(terms)s::text[], %(queries)s::text[]) AS t(term, query)
 WHERE EXISTS (SELECT 1 FROM workspaces_lexemeentry AS e
                WHERE e.workspace_id = %(workspace)s AND e.scope_id = ANY(%(scopes)s::uuid[])
                  AND e.lexemes @@ t.query::tsquery)
"""


def register() -> None:
    """Called once when the app is ready."""
    register_cleaner("retrievals", in_job=clean, at_once=clean_what_is_shown)


def clean_what_is_shown(workspace: Workspace, memory: ErasedMemory) -> int:
    """The ledger and the latest questions, in the step that takes the memory out."""
    with eraser_scope():
        latest = workspace.retrievals.order_by("-created_at").values("id")[:LATEST]
        has_gaps = workspace.gaps.exclude(question="").exists()
        if not has_gaps and not latest.exists():
            return 0
        asked = workspace.retrievals.filter(id__in=latest)
        return _clean(workspace, memory=memory, spoken=memory.terms, asked=asked)


def clean(workspace: Workspace, memory: ErasedMemory) -> int:
    """All of it; returns how many questions and gaps lost their words."""
    spoken = {term for text in memory.texts for term in query_terms(text)}
    with workspace_scope(workspace, ALL_SCOPES):
        asked = workspace.retrievals.exclude(query="")
        return _clean(workspace, memory=memory, spoken=spoken, asked=asked)


def _clean(
    workspace: Workspace,
    *,
    memory: ErasedMemory,
    spoken: Iterable[str],
    asked: QuerySet[RetrievalLog],
) -> int:
    words = lost_terms(workspace, memory=memory, spoken=spoken)
    logs = _logs(workspace, rows=asked, memory=memory, words=words)
    gaps = _gaps(workspace, memory=memory, words=words)
    beside = {UUID(gap_id) for log in logs for gap_id in log.gap_ids} - set(gaps)
    _redact_logs(workspace, ids=[log.id for log in logs])
    _redact_gaps(workspace, ids=gaps)
    # What was found beside an erased leaf may quote it in its reason.
    workspace.gaps.filter(id__in=beside).update(reason="", suggested_source=None)
    return len(logs) + len(gaps)


def lost_terms(
    workspace: Workspace, *, memory: ErasedMemory, spoken: Iterable[str]
) -> frozenset[str]:
    """The erased terms that no entry of the scope, or of the shared one, has left."""
    asked = sorted({term for term in spoken if _is_long(term)})[:MAX_TERMS]
    if not asked:
        return frozenset()
    scopes = sorted({workspace.pk, memory.scope_id})
    # With the scope's lexeme, the index is met by tenant and term at once.
    marks = to_tsquery_literal([scope_lexeme(workspace.pk, scope) for scope in scopes])
    queries = [f"({marks}) & ({to_tsquery_literal([term])})" for term in asked]
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scopes": scopes,
        "terms": asked,
        "queries": queries,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REMAINING, values)
        remaining = {row[0] for row in cursor.fetchall()}
    return frozenset(asked) - remaining


def _is_long(term: str) -> bool:
    return has_han(term) or len(term) >= SHORTEST_TERM


def _logs(
    workspace: Workspace,
    *,
    rows: QuerySet[RetrievalLog],
    memory: ErasedMemory,
    words: frozenset[str],
) -> list[RetrievalLog]:
    """Questions that an erased leaf answered, and questions with a word that is lost."""
    answered = Q(pk__in=[])
    for leaf_id in memory.leaf_ids:
        answered |= Q(node_ids__contains=[str(leaf_id)])
    rows = rows.annotate(
        words=Concat("query", Value(" "), Cast("feedback", TextField()), output_field=TextField())
    )
    asked = rows.filter(_of_scope(workspace, memory=memory), _written_like(words))
    if memory.is_whole_scope:
        answered |= Q(scope_id=memory.scope_id)
    found = {log.id: log for log in rows.filter(answered)}
    found |= {log.id: log for log in asked if _holds(log.words, words=words)}
    return list(found.values())


def _gaps(workspace: Workspace, *, memory: ErasedMemory, words: frozenset[str]) -> list[UUID]:
    """Gaps that an erased leaf closed, and those with a word that is lost."""
    rows = workspace.gaps.exclude(question="").annotate(
        words=Concat(
            "question",
            Value(" "),
            "reason",
            Value(" "),
            Cast("suggested_source", TextField()),
            output_field=TextField(),
        )
    )
    taken = Q(answered_by__in=memory.leaf_ids)
    if memory.is_whole_scope:
        taken |= Q(scope_id=memory.scope_id)
    closed = rows.filter(taken).values_list("id", flat=True)
    asked = rows.filter(_of_scope(workspace, memory=memory), _written_like(words))
    told = asked.values_list("id", "words")
    return sorted({*closed, *(gap_id for gap_id, text in told if _holds(text, words=words))})


def _written_like(words: frozenset[str]) -> Q:
    """A coarse look by the database: the words stand inside others here, or start them."""
    if not words:
        return Q(pk__in=[])
    return Q(words__iregex="|".join(re.escape(word) for word in sorted(words)))


def _holds(text: str | None, *, words: frozenset[str]) -> bool:
    return not words.isdisjoint(terms(text or ""))


def _of_scope(workspace: Workspace, *, memory: ErasedMemory) -> Q:
    """Shared memory may have been asked about by anybody, a private one also by its tenant."""
    if memory.scope_id == workspace.pk:
        return Q()
    return Q(scope_id__in=[memory.scope_id, workspace.pk])


def _redact_logs(workspace: Workspace, *, ids: Sequence[UUID]) -> None:
    for start in range(0, len(ids), BATCH):
        rows = workspace.retrievals.filter(id__in=ids[start : start + BATCH])
        rows.update(query="", request={}, feedback=None)


def _redact_gaps(workspace: Workspace, *, ids: Sequence[UUID]) -> None:
    rows = workspace.gaps.filter(id__in=ids)
    rows.filter(status=Gap.Status.OPEN).update(status=Gap.Status.DISMISSED, closed_at=now())
    rows.update(question="", reason="", suggested_source=None, embedding=None)

"""The index of what was said in a workspace's sessions, and the search over it.

One row of lexemes a message, with the lexeme of its scope, so that the index is met by tenant
and words at once. Derived data: it can be written again from the messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from agents.models.conversations import Message
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.ids import new_id
from holamem.text.segment import (
    query_terms,
    terms_with_positions,
    to_tsquery_literal,
    to_tsvector_literal,
)
from workspaces.index.entries import scope_lexeme
from workspaces.models.tenancy import Workspace

Scopes = Sequence[UUID] | str | None

INDEXED_ROLES = frozenset({Message.Role.USER, Message.Role.ASSISTANT, Message.Role.TOOL})
MAX_HITS = 50

_PUT = """
INSERT INTO agents_messageentry (id, workspace_id, scope_id, message_id, session_id, lexemes)
VALUES (%s, %s, %s, %s, %s, %s::tsvector)
ON CONFLICT (workspace_id, message_id) DO UPDATE SET lexemes = EXCLUDED.lexemes
"""
_DROP = "DELETE FROM agents_messageentry WHERE workspace_id = %s AND message_id = %s"

# What a memory tool answered is left out: it repeats what was said elsewhere. Rank by the number
# of different words first, since a message is short and repeats little.
_SEARCH = """
SELECT m.id, m.session_id, m.role, m.content, m.created_at,
       (SELECT count(*) FROM unnest(%(queries)s::text[]) AS q(word) WHERE e.lexemes @@ q.word::tsquery)
         + ts_rank(e.lexemes, %(query)s::tsquery, 1) AS score
  FROM agents_messageentry AS e
  JOIN agents_message AS m ON m.workspace_id = e.workspace_id AND m.id = e.message_id
 WHERE e.workspace_id = %(workspace)s AND (%(all)s OR e.scope_id = ANY(%(scopes)s::uuid[]))
   AND e.lexemes @@ %(query)s::tsquery AND m.deleted_at IS NULL
   AND NOT (m.role = 'tool' AND EXISTS (
     SELECT 1 FROM agents_toolcall AS c
      WHERE c.workspace_id = m.workspace_id AND c.run_id = m.run_id AND c.turn_id = m.turn_id
        AND c.call_id = m.tool_call_id AND c.name LIKE 'memory\\_%%'))
 ORDER BY score DESC, m.id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class MessageHit:
    message_id: UUID
    session_id: UUID
    role: str
    text: str
    created_at: datetime
    score: float


def index_message(workspace: Workspace, *, message: Message) -> None:
    """In the message's own transaction: a committed message is findable at once."""
    if message.role not in INDEXED_ROLES or message.deleted_at is not None:
        return
    literal = to_tsvector_literal(
        terms_with_positions(message.content),
        extra=[scope_lexeme(workspace.pk, message.scope_id)],
    )
    ids = [new_id(), workspace.pk, message.scope_id, message.id, message.session_id]
    with connection.cursor() as cursor:
        cursor.execute(_PUT, [*ids, literal])


def drop_message(workspace: Workspace, *, message: Message) -> None:
    """In the transaction that hides the message."""
    with connection.cursor() as cursor:
        cursor.execute(_DROP, [workspace.pk, message.id])


def search_messages(
    workspace: Workspace, *, scopes: Scopes, query: str, limit: int = 10
) -> list[MessageHit]:
    """The best matches first, the newest of equal ones; [] for a query without content."""
    words = query_terms(query)
    if not words:
        return []
    values = _values(workspace, scopes=scopes, words=words)
    with workspace_scope(workspace, scopes), connection.cursor() as cursor:
        cursor.execute(_SEARCH, {**values, "limit": max(1, min(limit, MAX_HITS))})
        return [MessageHit(*row) for row in cursor.fetchall()]


def _values(workspace: Workspace, *, scopes: Scopes, words: Sequence[str]) -> dict[str, Any]:
    is_all = scopes == ALL_SCOPES
    wanted = [workspace.pk] if scopes is None else [] if isinstance(scopes, str) else list(scopes)
    query = to_tsquery_literal(words)
    if not is_all:
        marks = to_tsquery_literal([scope_lexeme(workspace.pk, scope) for scope in wanted])
        query = f"({marks}) & ({query})" if marks else query
    return {
        "workspace": workspace.pk,
        "all": is_all,
        "scopes": wanted,
        "query": query,
        "queries": [to_tsquery_literal([word]) for word in words],
    }

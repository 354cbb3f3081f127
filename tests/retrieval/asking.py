"""Asking memory in tests."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection

from retrieval.definitions import parse_request
from retrieval.retrieve import retrieve
from workspaces.models.tenancy import Workspace

NOW = datetime(2026, 5, 22, 9, tzinfo=UTC)


def ask(
    workspace: Workspace, query: str, *, scopes: Sequence[UUID] | str | None = None, **values: Any
) -> dict[str, Any]:
    """The answer's JSON; the clock stands at 22 May 2026."""
    request = parse_request({"query": query, "now": NOW.isoformat(), **values})
    return retrieve(workspace, scopes=scopes, request=request).as_dict()


def node_ids(answer: dict[str, Any]) -> list[str]:
    return [item["node_id"] for item in answer["evidence"]]


def excerpts(answer: dict[str, Any]) -> str:
    return "\n".join(item["excerpt"] for item in answer["evidence"])


def facts(answer: dict[str, Any]) -> str:
    return "\n".join(item["text"] for item in answer["retrieval_pack"]["known_facts"])


@contextmanager
def counted_statements() -> Iterator[list[str]]:
    """Statements apart from transaction control, the role setting, and the log with its gaps."""
    seen: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        apart = ("set_config", "SAVEPOINT", "retrieval_gap", "retrieval_retrievallog")
        if not any(word in sql for word in apart):
            seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield seen

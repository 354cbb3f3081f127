"""How long an answer takes, and what it costs the database and the body store."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from django.db import connection

from holamem.database.embedded import EmbeddedServer
from holamem.environment import PROJECT_DIR
from holamem.sample.conversations import questions
from holamem.sample.loader import answered, client
from retrieval.bench.measures import Measure, percentile, spread
from retrieval.bench.server import Target
from retrieval.definitions import RetrieveRequest
from retrieval.investigate import anchor_of, investigate
from retrieval.trace import Trace
from workspaces.models.tenancy import Workspace

LANGUAGES = ("en", "zh")
WARM_UP = "What is there to know?"  # loads what all answers share
# They set the role and the scope of a step; the bound on statements leaves them out.
_TRANSACTION_CONTROL = ("set_config", "SET LOCAL", "RESET ROLE", "SAVEPOINT")


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer as its asker saw it."""

    total_ms: float
    bodies_read: float


def sample_questions(limit: int | None = None) -> list[str]:
    return [asked.question for language in LANGUAGES for asked in questions(language)][:limit]


def measure_retrieve(target: Target, *, asked: Sequence[str], rounds: int) -> list[Measure]:
    """Each question once and then `rounds` times over HTTP; what it costs inside, if it is ours.

    The server remembers the vector of a question, so only a first answer includes embedding it.
    """
    with client(url=target.url, api_key=target.api_key) as http:
        _ask(http, target, WARM_UP)
        first = [_ask(http, target, query) for query in asked]
        again = [_ask(http, target, query) for query in list(asked) * rounds]
        stages = [_stages_of(http, target, query) for query in asked]
    bodies = [answer.bodies_read for answer in (*first, *again)]
    return [
        Measure("answers", len(first) + len(again), "answers"),
        *spread("retrieve", [answer.total_ms for answer in first]),
        *spread("retrieve_without_embedding", [answer.total_ms for answer in again]),
        *spread("files_read", bodies, unit="files"),
        Measure("files_read_max", max(bodies), "files"),
        *_medians(stages),
        *_statements_inside(target, limit=len(asked)),
    ]


def _medians(stages_ms: Sequence[Mapping[str, float]]) -> list[Measure]:
    """In the order in which the stages run."""
    return [
        Measure(f"stage_{name}_p50", percentile([each[name] for each in stages_ms], 0.5), "ms")
        for name in stages_ms[0]
    ]


def _ask(http: httpx2.Client, target: Target, query: str) -> Answered:
    began = time.monotonic()
    answer = answered(http.post(target.path("memory/retrieve"), json={"query": query}))
    return Answered(
        total_ms=(time.monotonic() - began) * 1000,
        bodies_read=float(answer["coverage"]["searched"]["bodies_read"]),
    )


def _stages_of(http: httpx2.Client, target: Target, query: str) -> Mapping[str, float]:
    """Milliseconds by stage: the server's own words, which make its answer three times as long."""
    body = {"query": query, "explain": True}
    explained = answered(http.post(target.path("memory/retrieve"), json=body))["explain"]
    stages: Mapping[str, float] = explained["timings_ms"]
    return stages


def _statements_inside(target: Target, *, limit: int) -> list[Measure]:
    """Counted by a process that runs the same code on the server's database; none if not ours."""
    if target.data_dir is None:
        return []
    command = [
        sys.executable, str(PROJECT_DIR / "manage.py"), "bench", "statements", "--json",
        "--workspace", target.workspace, "--questions", str(limit),
    ]  # fmt: skip
    variables = {
        "HOLAMEM_DATA_DIR": str(target.data_dir),
        "HOLAMEM_DATABASE_URL": EmbeddedServer(target.data_dir).url(),
    }
    result = subprocess.run(  # noqa: S603 - our own command
        command, env={**os.environ, **variables}, check=True, capture_output=True, text=True
    )
    counted: dict[str, dict[str, Any]] = json.loads(result.stdout)
    return [Measure(name, item["value"], item["unit"]) for name, item in counted.items()]


def measure_statements(workspace: Workspace, *, asked: Sequence[str]) -> list[Measure]:
    """SQL statements of one answer, without transaction control, authentication and the log."""
    counts = [float(statements_of(workspace, query)) for query in asked]
    return [
        *spread("statements", counts, unit="statements"),
        Measure("statements_max", max(counts), "statements"),
    ]


def statements_of(workspace: Workspace, query: str) -> int:
    request = RetrieveRequest(query=query)
    seen: list[str] = []

    def count(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if not any(word in sql for word in _TRANSACTION_CONTROL):
            seen.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(count):
        anchor = anchor_of(workspace, request)
        investigate(workspace, scopes=None, request=request, anchor=anchor, trace=Trace())
    return len(seen)

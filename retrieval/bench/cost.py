"""What a question costs in a memory of each size, beside the one statement that it cannot spare."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from django.db import connection

from holamem.database import prepared
from holamem.database.one_trip import read_step
from holamem.database.roles import as_owner
from holamem.database.scope import workspace_scope
from retrieval.bench.asking import sample_questions, statements_of
from retrieval.bench.measures import Measure, percentile, spread
from retrieval.bench.seeding import Seeder
from retrieval.definitions import RetrieveRequest
from retrieval.retrieve import retrieve
from workspaces.index.near import NearIndex, near_indexes
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.services.vector_indexes import maintain_vector_indexes

SMALLER = (500, 1_000, 5_000)
COMPARED_WITH = 1_000
MOST_GROWTH = 4.0
MOST_OF_BARE = 1.5
LARGE = 100_000
MOST_P95_MS = {500: 20.0, 5_000: 40.0, LARGE: 150.0}
LEAST_RECALL = 0.95
NEAREST = 40
LEAVES_OF_OTHERS = 200
TABLES = ("workspaces_vectorentry", "workspaces_lexemeentry")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the statement that it needs, as it was sent."""

    question: str
    statement: str
    values: Mapping[str, Any]


def measure_cost(*, leaves: int, others: int, rounds: int) -> list[Measure]:
    """On the database of this process, which is filled first."""
    tenant = create_tenant(slug=f"bench-{uuid4().hex[:12]}", name="Bench")
    seeder = Seeder()
    for number in range(others):
        other = create_workspace(tenant, slug=f"other-{number}", name="Other")
        seeder.fill(other, leaves=LEAVES_OF_OTHERS)
    sizes = [size for size in SMALLER if size < leaves] + [leaves]
    measured: dict[int, list[Measure]] = {}
    middle: dict[int, float] = {}
    for size in sizes:
        workspace = create_workspace(tenant, slug=f"sized-{size}", name="Sized")
        seeder.fill(workspace, leaves=size)
        built = _settle()
        measured[size], middle[size] = _measure(workspace, size=size, rounds=rounds)
        measured[size] += [Measure(f"index_built_in_{size}", built, "s")] if built else []
        measured[size] += _recall(workspace, size=size)
    growth = middle[leaves] / middle.get(COMPARED_WITH, middle[leaves])
    return [
        *(measure for size in sizes for measure in measured[size]),
        Measure(f"growth_{leaves}_of_{COMPARED_WITH}", round(growth, 2), "", at_most=MOST_GROWTH),
        *_index_bytes(others=others, sizes=sizes),
    ]


def _settle() -> float:
    """What autovacuum and the sweep do in time. Seconds for the vector indexes; 0 without any."""
    with as_owner(connection), connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    began = time.monotonic()
    built = maintain_vector_indexes(most=None)
    return round(time.monotonic() - began, 1) if built else 0.0


def _measure(workspace: Workspace, *, size: int, rounds: int) -> tuple[list[Measure], float]:
    """Questions and their bare statements in turn, and the median of the questions in ms.

    Vectors of questions are remembered from the first time, and so are common words.
    """
    questions = sample_questions()
    for question in questions:
        _retrieve(workspace, question)
    gc.collect()
    gc.freeze()  # as the web server does
    asked = [_recorded(workspace, question) for question in questions]
    whole: list[float] = []
    bare: list[float] = []
    for number, one in enumerate(asked * rounds):
        # Who comes second finds the pages of this question in the caches, so they take turns.
        runs = [
            (whole, partial(_retrieve, workspace, one.question)),
            (bare, partial(_bare, workspace, one)),
        ]
        is_even = (number + number // len(asked)) % 2 == 0
        for spent, run in runs if is_even else reversed(runs):
            spent.append(_timed(run))
    middle = percentile(whole, 0.5)
    ratio = middle / percentile(bare, 0.5)
    statements = [statements_of(workspace, question) for question in questions]
    bodies = [_retrieve(workspace, question) for question in questions]
    return [
        *_bounded(spread(f"retrieve_{size}", whole), size=size),
        *spread(f"bare_{size}", bare),
        Measure(
            f"of_bare_{size}",
            round(ratio, 2),
            "",
            at_most=MOST_OF_BARE if size >= LARGE else None,
        ),
        Measure(f"statements_max_{size}", max(statements), "statements", at_most=6),
        Measure(f"files_max_{size}", max(bodies), "files"),
    ], middle


def _bounded(measures: Sequence[Measure], *, size: int) -> Iterator[Measure]:
    for measure in measures:
        most = MOST_P95_MS.get(size) if measure.name.endswith("_p95") else None
        yield Measure(measure.name, measure.value, measure.unit, at_most=most)


def _retrieve(workspace: Workspace, question: str) -> int:
    """Files read."""
    answer = retrieve(workspace, scopes=None, request=RetrieveRequest(query=question))
    return answer.searched.bodies_read


def _bare(workspace: Workspace, asked: Asked) -> int:
    return len(read_step(workspace, None, statement=asked.statement, values=asked.values))


def _timed(run: Callable[[], int]) -> float:
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000


def _recorded(workspace: Workspace, question: str) -> Asked:
    with _recorder() as seen:
        _retrieve(workspace, question)
    statement, values = seen[0]
    return Asked(question, statement, values)


@contextmanager
def _recorder() -> Iterator[list[tuple[str, Mapping[str, Any]]]]:
    """The candidate statements that are sent meanwhile."""
    real = prepared.fetch_rows
    seen: list[tuple[str, Mapping[str, Any]]] = []

    def recording(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        seen.append((statement, values))
        return real(statement, values)

    setattr(prepared, "fetch_rows", recording)  # noqa: B010 - put back below
    try:
        yield seen
    finally:
        setattr(prepared, "fetch_rows", real)  # noqa: B010 - as it was


def _recall(workspace: Workspace, *, size: int) -> list[Measure]:
    """Of the vector index against the exact search; nothing where there is no index."""
    asked = [_recorded(workspace, question) for question in sample_questions()]
    model = str(asked[0].values["model"])
    indexes = near_indexes(workspace.pk, scopes=[workspace.pk], model=model)
    shares = [
        _found_share(workspace, index, vector=str(one.values["vector_0"]))
        for index in indexes
        if index.kind == "leaf"
        for one in asked
    ]
    if not shares:
        return []
    mean = sum(shares) / len(shares)
    return [Measure(f"recall_at_{NEAREST}_{size}", round(mean, 4), "", at_least=LEAST_RECALL)]


def _found_share(workspace: Workspace, index: NearIndex, *, vector: str) -> float:
    distance = f"{index.vector('embedding')} <=> {index.vector('%(vector)s')}"
    # What is added to the distance is no order that an index has.
    orders = (distance, f"({distance}) + 0")
    found = []
    with workspace_scope(workspace):
        for order in orders:
            statement = (
                f"SELECT node_id FROM workspaces_vectorentry WHERE {index.condition()}"  # noqa: S608 - our own words
                f" AND status = 'active' ORDER BY {order} LIMIT {NEAREST}"
            )
            rows = prepared.fetch_rows(statement, {"vector": vector})
            found.append({node_id for (node_id,) in rows})
    return len(found[0] & found[1]) / max(1, len(found[1]))


def _index_bytes(*, others: int, sizes: Sequence[int]) -> list[Measure]:
    """Of the two search tables with all that belongs to them, summaries included."""
    leaves = others * LEAVES_OF_OTHERS + sum(sizes)
    with as_owner(connection), connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_total_relation_size(name::regclass)),"
            " sum(pg_indexes_size(name::regclass)) FROM unnest(%s::text[]) name",
            [list(TABLES)],
        )
        total, indexes = cursor.fetchone()
    return [
        Measure("search_bytes_per_leaf", round(total / leaves), "bytes"),
        Measure("index_bytes_per_leaf", round(indexes / leaves), "bytes"),
    ]

"""What row-level security adds to a question: the same one with and without, in turn."""

import gc
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import local
from uuid import UUID

from django.apps import apps
from django.db import connection

from holamem.database import one_trip, scope
from holamem.database.roles import OWNER_ROLE, TENANT_APPS, as_owner
from retrieval.bench.asking import sample_questions
from retrieval.bench.measures import Measure, percentile, spread
from retrieval.definitions import RetrieveRequest
from retrieval.retrieve import retrieve
from workspaces.models.tenancy import Workspace

MOST_OF_UNFENCED = 1.15
_thread = local()


def measure_fence(workspace: Workspace, *, rounds: int) -> list[Measure]:
    """On the database of this process, while nobody else writes to it."""
    questions = sample_questions()
    with _owner_sees_all(), _chosen_roles():
        fenced, unfenced = _in_turn(workspace, questions=questions * rounds, warm_up=questions)
    ratio = percentile(fenced, 0.5) / percentile(unfenced, 0.5)
    return [
        *spread("retrieve_with_row_security", fenced),
        *spread("retrieve_without", unfenced),
        Measure("row_security_ratio", round(ratio, 3), "", at_most=MOST_OF_UNFENCED),
    ]


def _in_turn(
    workspace: Workspace, *, questions: Sequence[str], warm_up: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Each side has a thread with a connection of its own: a prepared plan belongs to one role."""
    times: tuple[list[float], list[float]] = ([], [])
    with (
        ThreadPoolExecutor(1, initializer=partial(_begin, is_fenced=True)) as fenced,
        ThreadPoolExecutor(1, initializer=partial(_begin, is_fenced=False)) as unfenced,
    ):
        sides = (fenced, unfenced)
        for question in warm_up:
            for side in sides:
                side.submit(_timed, workspace, question).result()
        gc.collect()
        gc.freeze()  # as the web server does
        for number, question in enumerate(questions):
            for index in (0, 1) if number % 2 else (1, 0):
                times[index].append(sides[index].submit(_timed, workspace, question).result())
        for side in sides:
            side.submit(_end).result()
    return times


def _begin(*, is_fenced: bool) -> None:
    _thread.is_unfenced = not is_fenced


def _end() -> None:
    connection.close()  # that of the thread in which this runs


def _timed(workspace: Workspace, question: str) -> float:
    began = time.perf_counter()
    retrieve(workspace, scopes=None, request=RetrieveRequest(query=question))
    return (time.perf_counter() - began) * 1000


@contextmanager
def _owner_sees_all() -> Iterator[None]:
    """The tables' owner is not held by row-level security meanwhile; everybody else is."""
    _for_each_table("NO FORCE")
    try:
        yield
    finally:
        _for_each_table("FORCE")


def _for_each_table(word: str) -> None:
    tables = [
        model._meta.db_table
        for label in TENANT_APPS
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
    ]
    with as_owner(connection), connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relrowsecurity AND relname = ANY(%s)", [tables]
        )
        for (name,) in cursor.fetchall():
            quoted = connection.ops.quote_name(name)
            cursor.execute(f"ALTER TABLE {quoted} {word} ROW LEVEL SECURITY")


@contextmanager
def _chosen_roles() -> Iterator[None]:
    """The threads of the other side take the other role in each of their steps."""
    real = scope.scope_of

    def chosen(workspace: scope.HasId, scopes: Sequence[UUID] | str | None) -> scope.Scope:
        role, *rest = real(workspace, scopes)
        taken = OWNER_ROLE if getattr(_thread, "is_unfenced", False) else role
        return taken, rest[0], rest[1]

    modules = (scope, one_trip)
    for module in modules:
        setattr(module, "scope_of", chosen)  # noqa: B010 - put back below
    try:
        yield
    finally:
        for module in modules:
            setattr(module, "scope_of", real)  # noqa: B010 - as it was

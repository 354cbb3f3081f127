"""A frozen worker cluster is told from a busy one."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from holamem.database.scope import system_scope
from holamem.supervisor.backlog import is_stuck
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace


@pytest.fixture
def ledger(workspace: Workspace) -> Iterator[Workspace]:
    """No jobs but the test's own; other tests' jobs are back afterwards."""
    with transaction.atomic(), system_scope():
        Job.objects.all().delete()
        yield workspace
        transaction.set_rollback(True)


def _job(workspace: Workspace, **fields: object) -> None:
    values = {"topic": Job.Topic.TREE_DIRTY, "target_id": uuid4(), "next_try_at": Now()}
    Job.objects.create(workspace=workspace, scope_id=workspace.pk, **(values | fields))


def _age(column: str, seconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE workspaces_job SET {column} = now() - make_interval(secs => %s)", [seconds]
        )


def test_an_empty_ledger_is_not_stuck(ledger: Workspace) -> None:
    assert not is_stuck()


def test_old_due_work_that_nobody_takes_is_stuck(ledger: Workspace) -> None:
    _job(ledger)
    _age("next_try_at", 200)

    assert is_stuck()


def test_fresh_work_is_not_stuck(ledger: Workspace) -> None:
    _job(ledger)

    assert not is_stuck()


@pytest.mark.parametrize(
    "other",
    [
        {"state": Job.State.DONE, "done_at": Now()},
        {"state": Job.State.RUNNING, "lease_until": "2999-01-01T00:00:00Z"},
    ],
)
def test_old_work_behind_a_busy_worker_is_not_stuck(
    ledger: Workspace, other: dict[str, object]
) -> None:
    _job(ledger)
    _age("next_try_at", 200)
    _job(ledger, **other)

    assert not is_stuck()

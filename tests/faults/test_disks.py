"""A body store that refuses: what was said waits and is not parked, and what is known is read."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection
from django.test import Client
from psycopg.errors import DiskFull

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.supervisor.doctor import State, diagnose
from tests.api.client import Side, codes, event_body, new_side
from tests.faults.crash import end_pauses, recover
from tests.faults.disks import Disk, small_disk
from tests.faults.processes import start
from tests.verification import errors_of
from tests.workspaces.memory import draft, drain, next_ready, principal_of, remember, results_of
from workspaces import bodies
from workspaces.bodies import body_storage
from workspaces.models.jobs import MAX_ATTEMPTS, Job
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import receive_events

KNOWN = "The Atlas gateway listens on port 8443."
OTHER = "Mara Lindqvist owns the Atlas gateway."
NEW = "Rate limits of the Atlas gateway live in Redis."
CORRECTION = {"text": "The Atlas gateway listens on port 9443."}


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    with small_disk(monkeypatch, tmp_path / "disk") as made:
        yield made


@pytest.fixture
def side(disk: Disk) -> Side:
    return new_side()


def broken(disk: Disk, state: str) -> AbstractContextManager[None]:
    return {"full": disk.full, "no inodes": disk.without_inodes, "read-only": disk.read_only}[
        state
    ]()


def known_leaf(workspace: Workspace, text: str = KNOWN) -> UUID:
    [result] = remember(workspace, draft(text))
    assert result.chunks[0].leaf_id is not None
    return result.chunks[0].leaf_id


def waiting_jobs(workspace: Workspace) -> list[tuple[str, str, int, str]]:
    with system_scope():
        rows = Job.objects.filter(workspace=workspace).exclude(state=Job.State.DONE)
        return [(job.topic, job.state, job.attempts, job.error.split(":")[0]) for job in rows]


def try_often(workspace: Workspace) -> None:
    """More often than it takes to be parked."""
    for _ in range(MAX_ATTEMPTS + 1):
        end_pauses(workspace)
        drain(workspace)


def readiness() -> dict[str, str]:
    checks: dict[str, str] = Client().get("/readyz").json()["checks"]
    return checks


def body_store_diagnosis() -> State:
    return next(found.state for found in diagnose() if found.name == "body store")


def leaf_page(side: Side, leaf_id: UUID) -> dict[str, Any]:
    response = side.caller.get(f"{side.base}/leaves/{leaf_id}")
    assert response.status_code == 200
    page: dict[str, Any] = response.json()
    return page


def evidence_for(side: Side, query: str) -> dict[str, Any]:
    response = side.caller.post(f"{side.base}/memory/retrieve", {"query": query})
    assert response.status_code == 200
    answer: dict[str, Any] = response.json()
    return answer


def correct(side: Side, leaf_id: UUID) -> Any:
    return side.caller.post(f"{side.base}/leaves/{leaf_id}:correct", CORRECTION)


@pytest.mark.parametrize(
    ("state", "status", "code"),
    [
        ("full", 507, "storage_full"),
        ("no inodes", 507, "storage_full"),
        ("read-only", 503, "storage_unavailable"),
    ],
)
def test_while_the_disk_refuses_events_wait_and_memory_is_read(
    side: Side, disk: Disk, state: str, status: int, code: str
) -> None:
    workspace, leaf_id = side.workspace, known_leaf(side.workspace)
    assert readiness()["body_store"] == "ok"
    with broken(disk, state):
        received = side.caller.post(f"{side.base}/events", event_body(NEW))
        assert received.status_code == 202  # the event is a row: nothing is lost
        try_often(workspace)
        assert waiting_jobs(workspace) == [("event.received", "ready", 0, code)]
        assert leaf_texts(workspace) == [KNOWN]
        refused = correct(side, leaf_id)
        assert (refused.status_code, codes(refused)) == (status, {"": code})
        assert refused["Retry-After"] if status == 503 else True
        assert leaf_page(side, leaf_id)["body"] == KNOWN
        assert KNOWN in str(evidence_for(side, "Which port does the Atlas gateway use?"))
        assert readiness()["body_store"] == "failed"
        assert body_store_diagnosis() is State.FAILED
        assert disk.temporary_files() == []
    recover(workspace)
    assert leaf_texts(workspace) == [KNOWN, NEW]
    assert correct(side, leaf_id).status_code == 200
    recover(workspace)
    assert readiness()["body_store"] == "ok"


def leaf_texts(workspace: Workspace) -> list[str]:
    with workspace_scope(workspace, ALL_SCOPES):
        return [bodies.read_markdown(leaf.body_path) for leaf in workspace.leaves.order_by("id")]


def test_after_a_failed_sync_nothing_is_kept_and_no_descriptor_is_synced_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    side = new_side()
    workspace, leaf_id = side.workspace, known_leaf(side.workspace)
    failed: list[int] = []
    opened = os.open

    def open_anew(*arguments: Any, **named: Any) -> int:
        descriptor = opened(*arguments, **named)
        if descriptor in failed:
            failed.remove(descriptor)
        return descriptor

    def fsync(descriptor: int) -> None:
        assert descriptor not in failed, "synced again after it had failed"
        failed.append(descriptor)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(bodies.os, "open", open_anew)
        patch.setattr(bodies.os, "fsync", fsync)
        received = side.caller.post(f"{side.base}/events", event_body(NEW))
        try_often(workspace)
        refused = correct(side, leaf_id)
    assert received.status_code == 202
    assert waiting_jobs(workspace) == [("event.received", "ready", 0, "storage_unavailable")]
    assert (refused.status_code, codes(refused)) == (503, {"": "storage_unavailable"})
    assert int(refused["Retry-After"]) >= 1
    assert leaf_texts(workspace) == [KNOWN]
    assert readiness()["body_store"] == "failed"  # nothing else tells that this disk is suspect
    assert body_store_diagnosis() is State.FAILED
    recover(workspace)
    assert leaf_texts(workspace) == [KNOWN, NEW]
    assert readiness()["body_store"] == "ok"


def test_a_database_with_a_full_disk_is_said_to_be_full() -> None:
    side = new_side()

    def refused(execute: Any, sql: str, *rest: Any) -> Any:
        if "INSERT INTO" in str(sql) and "workspaces_event" in str(sql):
            raise OperationalError("no space") from DiskFull()
        return execute(sql, *rest)

    with connection.execute_wrapper(refused):
        response = side.caller.post(f"{side.base}/events", event_body(NEW))
    assert (response.status_code, codes(response)) == (507, {"": "storage_full"})
    assert side.caller.post(f"{side.base}/events", event_body(NEW)).status_code == 202
    recover(side.workspace)


def remember_with_no_descriptor_left(workspace_id: UUID) -> None:
    """Runs in a process of its own: the first event as usual, the second without descriptors."""
    with system_scope():
        workspace = Workspace.objects.select_related("tenant").get(id=workspace_id)
    drain(workspace)  # loads what is loaded on its first use
    receive_events(workspace, drafts=[draft(NEW, minutes=9)], principal=principal_of(workspace))
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (free, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    while next_ready(workspace) is not None:
        drain(workspace)


def test_a_worker_without_free_descriptors_parks_nothing(workspace: Workspace) -> None:
    ids = receive_events(workspace, drafts=[draft(KNOWN)], principal=principal_of(workspace))
    assert start(remember_with_no_descriptor_left, workspace.pk).wait() == 0
    assert results_of(workspace, ids.event_ids)[0].status == "processed"
    assert waiting_jobs(workspace) == [("event.received", "ready", 0, "storage_unavailable")]
    recover(workspace)
    assert leaf_texts(workspace) == [KNOWN, NEW]


@pytest.fixture
def torn(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Side, UUID]]:
    """A memory of two leaves, half of one of whose files is gone; whole again afterwards."""
    side = new_side()
    leaf_id = known_leaf(side.workspace)
    remember(side.workspace, draft(OTHER, minutes=1))
    with workspace_scope(side.workspace, ALL_SCOPES):
        path = Path(body_storage().path(side.workspace.leaves.get(id=leaf_id).body_path))
    whole = path.read_bytes()
    os.truncate(path, len(whole) // 2)
    yield side, leaf_id
    path.write_bytes(whole)


def test_a_torn_body_is_flagged_and_the_rest_is_read(torn: tuple[Side, UUID]) -> None:
    side, leaf_id = torn
    page = leaf_page(side, leaf_id)
    assert (page["body"], page["body_problem"]) == (None, "body_corrupt")
    answer = evidence_for(side, "Which port does the Atlas gateway use, and who owns it?")
    assert OTHER in str(answer["evidence"])
    assert "bodies" in answer["degraded"]
    tree = side.caller.get(f"{side.base}/trees/interaction:atlas-gateway")
    assert tree.status_code == 200
    [finding] = [found for found in errors_of(side.workspace) if found.code == "B2"]
    assert str(leaf_id) in finding.object
    assert "backup" in finding.suggested_repair

"""A worker that is killed while it reads an outside system: nothing is lost, nothing comes twice."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.environment import get_environment
from tests.faults import child
from tests.faults.crash import expire_leases, is_killed_at, picture, recover
from tests.faults.processes import start
from tests.verification import assert_clean
from tests.workspaces.connectors.folders import MAY, allow, write
from tests.workspaces.memory import drain, principal_of
from tests.workspaces.services.test_lineage import LONG, deletion
from tests.workspaces.services.test_revisions import revision
from workspaces.connectors import markdown_folder
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.intake import receive_events
from workspaces.services.integrations.connectors import (
    create_connector,
    get_connector,
    request_sync,
)
from workspaces.services.jobs import claim_job, sweep
from workspaces.services.tenants import create_workspace
from workspaces.services.worker import run_job

WHERE: dict[str, Any] = {"provider": "files", "account": "notes"}
SMALL_PAGE = 5
POINTS = [("sync.before_commit", 2)]
REST = [
    ("sync.page_ready", 3),
    ("sync.after_page", 1),
    ("sync.page_ready", 1),
    ("sync.before_commit", 1),
    ("sync.after_page", 2),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    allow(monkeypatch, str(tmp_path))
    monkeypatch.setattr(markdown_folder, "PAGE_OBJECTS", SMALL_PAGE)
    notes = tmp_path / "notes"
    notes.mkdir()
    yield notes
    monkeypatch.undo()
    get_environment.cache_clear()


def connected(tenant: Tenant, slug: str, folder: Path) -> Workspace:
    workspace = create_workspace(tenant, slug=slug, name=slug, settings={"seal_threshold": 2})
    create_connector(
        workspace,
        principal=principal_of(workspace),
        kind="markdown_folder",
        settings={"path": str(folder)},
        **WHERE,
    )
    return workspace


def ask(workspace: Workspace) -> UUID:
    principal = principal_of(workspace)
    return request_sync(workspace, principal=principal, scopes=ALL_SCOPES, **WHERE).job_id


def run_pass(job_id: UUID) -> None:
    """The pass alone; what it brought waits."""
    job = claim_job(job_id)
    assert job is not None
    assert job.id == job_id
    run_job(job)


def brought(workspace: Workspace) -> dict[str, object]:
    """What a pass left in the log and on its connector, without ids and times of the run."""
    connector = get_connector(workspace, scopes=None, **WHERE)
    with workspace_scope(workspace, ALL_SCOPES):
        return {
            "events": sorted(
                workspace.events.values_list("external_id", "payload_text", "deleted")
            ),
            "jobs": workspace.jobs.filter(topic=Job.Topic.EVENT_RECEIVED).count(),
            "objects": sorted(
                workspace.connector_objects.values_list("external_id", "version", "is_deleted")
            ),
            "progress": connector.progress,
            "cursor": connector.cursor,
            "status": connector.status,
        }


@pytest.mark.parametrize(("at", "occurrence"), POINTS)
def test_a_pass_that_is_killed_between_pages_ends_like_one_that_was_not(
    tenant: Tenant, folder: Path, at: str, occurrence: int
) -> None:
    assert_goes_on(tenant, folder, at=at, occurrence=occurrence)


@pytest.mark.slow
@pytest.mark.parametrize(("at", "occurrence"), REST)
def test_a_pass_that_is_killed_elsewhere_goes_on_as_well(
    tenant: Tenant, folder: Path, at: str, occurrence: int
) -> None:
    assert_goes_on(tenant, folder, at=at, occurrence=occurrence)


def work_with_small_pages(workspace_id: UUID) -> None:
    """Runs in the process that is killed."""
    markdown_folder.PAGE_OBJECTS = SMALL_PAGE
    child.work_in(workspace_id)


def assert_goes_on(tenant: Tenant, folder: Path, *, at: str, occurrence: int) -> None:
    for number in range(SMALL_PAGE * 2 + 1):  # and a bad one: three pages
        write(folder, f"{number:03}.md", f"笔记第 {number} 条。Note number {number}.")
    write(folder, "bad.md", b"\xff")
    clean = connected(tenant, "clean", folder)
    run_pass(ask(clean))
    struck = connected(tenant, "struck", folder)
    job_id = ask(struck)
    fault = f"{at}:kill@{occurrence}"
    assert start(work_with_small_pages, struck.pk, fault=fault).is_killed(), f"{at} was not reached"
    assert get_connector(struck, scopes=None, **WHERE).status == "running"
    expire_leases(struck)
    sweep()
    make_due(job_id)
    run_pass(job_id)
    assert brought(struck) == brought(clean)
    run_pass(ask(struck))
    assert brought(struck)["events"] == brought(clean)["events"]


def make_due(job_id: UUID) -> None:
    with system_scope():
        job = Job.objects.get(id=job_id)
        assert (job.state, job.attempts) == ("ready", 1)
        Job.objects.filter(id=job_id).update(next_try_at=job.created_at)


@pytest.mark.slow
@pytest.mark.parametrize("at", ["sync.page_ready", "sync.before_commit", "sync.after_page"])
def test_memory_after_a_killed_pass_is_that_of_a_clean_one(
    tenant: Tenant, folder: Path, at: str
) -> None:
    workspaces = [connected(tenant, slug, folder) for slug in ("clean", "struck")]
    for number in range(4):
        write(folder, f"{number}.md", f"Service {number} uses port 1.")
    write(folder, "服务.md", "支付网关监听 8443 端口。")
    for workspace in workspaces:
        ask(workspace)
        drain(workspace)
    (folder / "0.md").rename(folder / "moved.md")
    (folder / "1.md").unlink()
    write(folder, "2.md", "Service 2 uses port 2.", at=MAY + timedelta(hours=1))
    clean, struck = workspaces
    ask(clean)
    drain(clean)
    ask(struck)
    assert is_killed_at(struck, at), f"{at} was not reached"
    recover(struck)
    assert picture(struck) == picture(clean)
    assert brought(struck) == brought(clean)
    assert_clean(clean)


REVISIONS = [
    revision("\n\n".join(LONG)),
    revision("\n\n".join([LONG[0], LONG[1].replace("room 3.", "room 4."), LONG[2]]), minutes=1),
    revision("\n\n".join(LONG[1:]), minutes=2),
    revision("Licence: MIT.", of="a", minutes=3),
    revision("Licence: MIT.", of="b", minutes=4),
    deletion(of="a", minutes=5),
    revision("许可证：MIT。", of="c", minutes=6),
    deletion(of="c", minutes=8),
    revision("许可证：BSD。", of="c", minutes=7),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at", "occurrence"),
    [
        ("event.before_processed", 2),
        ("event.before_processed", 6),
        ("leaf.before_commit", 5),
        ("leaf.after_commit", 7),
        ("duplicate.before_commit", 1),
    ],
)
def test_revisions_and_deletions_survive_a_killed_worker(
    tenant: Tenant, at: str, occurrence: int
) -> None:
    pictures = []
    for slug in ("clean", "struck"):
        workspace = create_workspace(tenant, slug=slug, name=slug, settings={"seal_threshold": 64})
        receive_events(workspace, drafts=REVISIONS, principal=principal_of(workspace))
        if slug == "struck":
            assert is_killed_at(workspace, at, occurrence=occurrence), f"{at} was not reached"
        recover(workspace)
        pictures.append(picture(workspace))
    assert pictures[0] == pictures[1]

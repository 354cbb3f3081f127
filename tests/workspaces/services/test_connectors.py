"""Connectors: who may connect what, when a pass runs, and how it is stopped."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import time_machine

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from tests.faults.crash import end_pauses
from tests.verification import assert_clean
from tests.workspaces.connectors.folders import MAY, write
from tests.workspaces.connectors.passes import WHERE, ask, connect, counts, events, synchronise
from tests.workspaces.memory import draft, drain, principal_of, remember, unfinished_jobs
from tests.workspaces.services.test_revisions import current
from workspaces.connectors import registry
from workspaces.connectors.base import Item, Page, Progress, Scan
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.end_users import ensure_end_user
from workspaces.services.integrations import sync
from workspaces.services.integrations.connectors import (
    create_connector,
    disable_connector,
    get_connector,
    request_sync,
)
from workspaces.services.integrations.schedule import sweep_connectors
from workspaces.services.jobs import cancel_job, claim_job
from workspaces.services.principals import Principal
from workspaces.services.status import workspace_status
from workspaces.services.worker import run_job


def test_one_account_is_connected_once(workspace: Workspace, folder: Path) -> None:
    connect(workspace, folder)
    with pytest.raises(Conflict):
        connect(workspace, folder)
    connect(workspace, folder, account="others")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"provider": "interaction"}, "provider"),
        ({"provider": "a:b"}, "provider"),
        ({"provider": "a/b"}, "provider"),
        ({"account": "a/b"}, "account"),
        ({"account": ".."}, "account"),
        ({"kind": "telepathy"}, "kind"),
        ({"settings": {"path": "/etc"}}, "settings.path"),
        ({"interval_minutes": 0}, "interval_minutes"),
    ],
)
def test_what_cannot_be_connected_is_refused_with_its_field(
    workspace: Workspace, folder: Path, values: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        connect(workspace, folder, **values)
    assert refused.value.field == field


def test_a_key_of_one_end_user_connects_nothing(workspace: Workspace, folder: Path) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        user_id = ensure_end_user(workspace, ref="u-1")
    bound = Principal(
        "key",
        workspace.tenant_id,
        workspace.id,
        user_id,
        "u-1",
        frozenset({"memory:write"}),
        None,
        False,
    )
    with pytest.raises(PermissionDenied):
        create_connector(
            workspace,
            principal=bound,
            kind="markdown_folder",
            settings={"path": str(folder)},
            **WHERE,
        )
    connect(workspace, folder)
    with pytest.raises(NotFound):
        request_sync(workspace, principal=bound, scopes=[user_id], **WHERE)


def test_a_stopped_connector_is_not_read_and_may_be_taken_up_again(
    workspace: Workspace, folder: Path
) -> None:
    write(folder, "a.md", "Service a uses port 1.")
    connect(workspace, folder)
    synchronise(workspace)
    principal = principal_of(workspace)
    disable_connector(workspace, principal=principal, scopes=ALL_SCOPES, **WHERE)
    with pytest.raises(Conflict):
        ask(workspace)
    assert current(workspace) == ["Service a uses port 1."]
    write(folder, "a.md", "Service a uses port 2.", at=MAY + timedelta(hours=1))
    connect(workspace, folder)
    synchronise(workspace)
    assert current(workspace) == ["Service a uses port 2."]
    assert events(workspace) == 2
    assert_clean(workspace)


def test_a_pass_that_is_stopped_meanwhile_commits_no_further_page(
    workspace: Workspace, folder: Path
) -> None:
    for number in range(60):
        write(folder, f"{number:02}.md", f"Note number {number}.")
    connect(workspace, folder)
    job = claim(ask(workspace))
    connector = sync._start(workspace, job=job)
    assert connector is not None
    disable_connector(workspace, principal=principal_of(workspace), scopes=ALL_SCOPES, **WHERE)
    sync._run_pages(workspace, job=job, connector=connector)
    assert events(workspace) == 0
    assert get_connector(workspace, scopes=None, **WHERE).status == "idle"


def claim(job_id: UUID) -> Any:
    claimed = claim_job(job_id)
    assert claimed is not None
    assert claimed.id == job_id
    return claimed


def test_asking_twice_queues_one_pass_and_one_behind_a_running_one(
    workspace: Workspace, folder: Path
) -> None:
    connect(workspace, folder)
    first = ask(workspace)
    assert ask(workspace) == first
    running = claim(first)
    second = ask(workspace)
    assert second != first
    assert claim_job(second) is None or claim_job(second).id != second  # type: ignore[union-attr]
    run_job(running)
    assert get_connector(workspace, scopes=None, **WHERE).status == "queued"
    drain(workspace)
    assert get_connector(workspace, scopes=None, **WHERE).status == "idle"


@pytest.mark.slow
def test_a_long_pass_gives_other_work_a_turn_and_goes_on(
    workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(120):
        write(folder, f"{number:03}.md", f"Note number {number}.")
    connect(workspace, folder)
    monkeypatch.setattr(sync, "PASS_SECONDS", -1)
    job_id = ask(workspace)
    seen = []
    for _ in range(3):
        run_job(claim(job_id))
        connector = get_connector(workspace, scopes=None, **WHERE)
        seen.append((connector.status, connector.progress["changed"]))
        with system_scope():
            waiting = Job.objects.filter(target_id=connector.id, state="ready").first()
        job_id = waiting.id if waiting else job_id
    assert seen == [("queued", 50), ("queued", 100), ("idle", 120)]
    assert events(workspace) == 120
    drain(workspace)
    assert_clean(workspace)


def test_a_connector_with_an_interval_is_read_again_when_it_is_due(
    workspace: Workspace, folder: Path
) -> None:
    write(folder, "a.md", "Service a uses port 1.")
    connect(workspace, folder, interval_minutes=30)
    assert sweep_for(workspace) == 1
    drain(workspace)
    assert workspace_status(workspace, scopes=ALL_SCOPES).idle
    assert sweep_for(workspace) == 0
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=31)):
        assert sweep_for(workspace) == 1
        assert sweep_for(workspace) == 0
    drain(workspace)


def sweep_for(workspace: Workspace) -> int:
    """Passes of this workspace that a sweep queued."""
    rows = {"workspace": workspace, "topic": "connector.sync"}
    with system_scope():
        before = Job.objects.filter(**rows).count()
    sweep_connectors()
    with system_scope():
        return Job.objects.filter(**rows).count() - before


def test_a_pass_whose_job_is_gone_is_shown_as_failed(workspace: Workspace, folder: Path) -> None:
    connect(workspace, folder)
    cancel_job(workspace, scopes=ALL_SCOPES, job_id=ask(workspace))
    sweep_connectors()
    failed = get_connector(workspace, scopes=None, **WHERE)
    assert (failed.status, failed.error) == ("failed", "The pass was cancelled.")


class Scripted:
    """A connector with a cursor of its own, as those of web services have."""

    name = "scripted"

    def __init__(self, pages: list[Page]) -> None:
        self.pages = pages
        self.scans: list[Scan] = []

    def validate_settings(self, settings: Mapping[str, Any], *, tenant: str) -> dict[str, Any]:
        return dict(settings)

    def fetch(self, scan: Scan) -> Iterator[Page]:
        self.scans.append(scan)
        yield from self.pages[int(scan.cursor.get("page", 0)) :]


def test_another_kind_plugs_in_and_goes_on_at_its_cursor(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [Item(f"i-{n}", f"Issue number {n} is open.", f"v{n}") for n in range(2)]
    kind = Scripted(
        [
            Page(Progress(seen=1, changed=1), {"page": 1}, items=(items[0],)),
            Page(Progress(seen=2, changed=2), {}, items=(items[1],)),
        ]
    )
    monkeypatch.setitem(registry._kinds, kind.name, kind)
    create_connector(
        workspace, principal=principal_of(workspace), kind="scripted", settings={}, **WHERE
    )
    monkeypatch.setattr(sync, "PASS_SECONDS", -1)
    done = synchronise(workspace)
    assert [dict(scan.cursor) for scan in kind.scans] == [{}, {"page": 1}]
    assert counts(done) == {"seen": 2, "changed": 2}
    assert len(current(workspace)) == 2
    assert_clean(workspace)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (Item("", "Text.", "v"), "The name has more than 300 characters, or none."),
        (Item("a\nb", "Text.", "v"), "The name holds control characters."),
        (Item("a", "  ", "v"), "There is no text."),
        (Item("a", "x" * 1_000_001, "v"), "The text is larger than 1000000 bytes."),
        (Item("a", "a\x00b", "v"), "The text holds a null character."),
    ],
)
def test_an_item_that_can_be_no_event_stops_no_other(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, item: Item, reason: str
) -> None:
    good = Item("good", "Issue number 7 is open.", "v")
    kind = Scripted([Page(Progress(seen=2, changed=2), {}, items=(item, good))])
    monkeypatch.setitem(registry._kinds, kind.name, kind)
    create_connector(
        workspace, principal=principal_of(workspace), kind="scripted", settings={}, **WHERE
    )
    done = synchronise(workspace)
    assert counts(done) == {"seen": 2, "changed": 1, "failed": 1}
    assert [failure["reason"] for failure in done.progress["failures"]] == [reason]
    assert current(workspace) == ["Issue number 7 is open."]


def test_an_unexpected_error_is_shown_until_the_job_has_tried_for_the_last_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Scripted):
        def fetch(self, scan: Scan) -> Iterator[Page]:
            raise ValueError("boom")

    monkeypatch.setitem(registry._kinds, "scripted", Broken([]))
    create_connector(
        workspace, principal=principal_of(workspace), kind="scripted", settings={}, **WHERE
    )
    waiting = synchronise(workspace)
    assert (waiting.status, waiting.error) == ("queued", "The pass stopped unexpectedly.")
    for _ in range(2):
        end_pauses(workspace)
        drain(workspace)
    assert [(topic, state) for topic, state, _ in unfinished_jobs(workspace)] == [
        ("connector.sync", "parked")
    ]
    sweep_connectors()
    failed = get_connector(workspace, scopes=None, **WHERE)
    assert (failed.status, failed.error) == ("failed", "ValueError while running this job")


def test_interaction_memory_of_the_same_words_is_another_leaf(
    workspace: Workspace, folder: Path
) -> None:
    text = "The Atlas gateway listens on port 8443."
    remember(workspace, draft(text))
    write(folder, "a.md", text)
    connect(workspace, folder)
    synchronise(workspace)
    assert current(workspace) == [text, text]
    (folder / "a.md").unlink()
    synchronise(workspace, allow_deletions=True)
    with workspace_scope(workspace, ALL_SCOPES):
        [left] = workspace.leaves.filter(status="active")
    assert left.category == "interaction"
    assert_clean(workspace)

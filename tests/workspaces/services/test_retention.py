"""Old texts go, rows and leaves stay; each workspace says for how long."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, principal_of, remember, results_of
from workspaces.bodies import read_markdown
from workspaces.models.jobs import Job
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services import retention
from workspaces.services.intake import receive_events
from workspaces.services.jobs import retry_job
from workspaces.services.tenants import create_workspace
from workspaces.tasks import sweep

FACT = "The Atlas gateway listens on port 8443."
SMALL_TALK = "Thanks, have a nice weekend!"


@pytest.fixture(autouse=True)
def _no_backlog(django_db_setup: None) -> None:
    """Other tests date their events months back; a batch may hold them and none of ours."""
    while retention.remove_old_texts():
        pass


def age(workspace: Workspace, *, days: float, **values: object) -> None:
    with system_scope():
        Event.objects.filter(workspace=workspace).update(
            received_at=now() - timedelta(days=days), **values
        )


def event_texts(workspace: Workspace) -> list[str]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.events.order_by("id").values_list("payload_text", flat=True))


def chunk_rows(workspace: Workspace) -> list[tuple[str, str, str]]:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.chunks.order_by("event_id", "position")
        return list(rows.values_list("outcome", "reason", "text"))


def test_old_texts_go_and_rows_and_leaves_stay(workspace: Workspace) -> None:
    remember(workspace, draft(FACT), draft(SMALL_TALK, admission="auto", user_id="ada"))
    [_, (outcome, reason, text)] = chunk_rows(workspace)
    assert (outcome, text) == ("rejected", SMALL_TALK)
    age(workspace, days=91)
    sweep()
    assert event_texts(workspace) == ["", ""]
    assert [row[2] for row in chunk_rows(workspace)] == ["", ""]
    assert chunk_rows(workspace)[1] == ("rejected", reason, "")
    with workspace_scope(workspace, ALL_SCOPES):
        leaf = workspace.leaves.get()
    assert FACT in read_markdown(leaf.body_path, sha256=leaf.body_sha256)
    assert_clean(workspace)


def test_a_young_event_keeps_its_text(workspace: Workspace) -> None:
    """However long ago it happened: what counts is when it came in."""
    remember(workspace, draft(SMALL_TALK, admission="auto", minutes=-60 * 24 * 300))
    age(workspace, days=89)
    retention.remove_old_texts()
    assert event_texts(workspace) == [SMALL_TALK]
    assert [text for _, _, text in chunk_rows(workspace)] == [SMALL_TALK]


@pytest.mark.parametrize("status", ["received", "processing", "failed"])
def test_an_event_that_is_still_to_be_judged_keeps_its_text(
    workspace: Workspace, status: str
) -> None:
    receive_events(workspace, drafts=[draft(FACT)], principal=principal_of(workspace))
    age(workspace, days=400, status=status)
    retention.remove_old_texts()
    assert event_texts(workspace) == [FACT]
    drain(workspace)


def test_each_workspace_has_its_own_days(tenant: Tenant, workspace: Workspace) -> None:
    short = create_workspace(tenant, slug="short", name="Short", settings={"retention_days": 7})
    for each in (workspace, short):
        remember(each, draft(FACT))
        age(each, days=8)
    retention.remove_old_texts()
    assert (event_texts(workspace), event_texts(short)) == ([FACT], [""])


def test_a_sweep_clears_one_batch_the_oldest_first(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, draft(FACT), draft(SMALL_TALK))
    age(workspace, days=91)
    with system_scope():
        Event.objects.filter(workspace=workspace, payload_text=SMALL_TALK).update(
            received_at=now() - timedelta(days=400)
        )
    monkeypatch.setattr(retention, "BATCH", 1)
    assert retention.remove_old_texts() == 1
    assert event_texts(workspace) == [FACT, ""]
    assert retention.remove_old_texts() == 1
    assert event_texts(workspace) == ["", ""]
    assert retention.remove_old_texts() == 0


def test_a_dead_event_without_its_text_can_be_retried_and_ends_without_a_leaf(
    workspace: Workspace,
) -> None:
    received = receive_events(workspace, drafts=[draft(FACT)], principal=principal_of(workspace))
    with system_scope():
        event = Event.objects.get(id=received.event_ids[0])
        Chunk.objects.create(
            workspace=workspace,
            scope_id=event.scope_id,
            event=event,
            position=0,
            start=0,
            end=len(FACT),
            text=FACT,
            fingerprint="0" * 64,
        )
        job = Job.objects.get(workspace=workspace)
        Job.objects.filter(id=job.pk).update(state=Job.State.PARKED, next_try_at=Now())
    age(workspace, days=91, status=Event.Status.DEAD)
    assert retention.remove_old_texts() == 1
    assert chunk_rows(workspace) == [("rejected", "expired", "")]
    retry_job(workspace, job_id=job.pk)
    drain(workspace)
    [result] = results_of(workspace, received.event_ids)
    assert (result.status, [chunk.leaf_id for chunk in result.chunks]) == ("processed", [None])
    assert_clean(workspace)


def test_a_backlog_of_one_workspace_keeps_no_other_waiting(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = create_workspace(tenant, slug="busy", name="Busy")
    quiet = create_workspace(tenant, slug="quiet", name="Quiet")
    remember(busy, *[draft(f"{FACT} {number}", minutes=number) for number in range(4)])
    remember(quiet, draft(FACT))
    age(busy, days=200)
    age(quiet, days=91)
    monkeypatch.setattr(retention, "BATCH", 2)
    assert retention.remove_old_texts() == 2
    assert event_texts(quiet) == [""]
    assert event_texts(busy).count("") == 1

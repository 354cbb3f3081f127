"""Revisions and deletions that are worked on at once: the source's own order decides, not ours."""

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.faults.gates import GATE_SECONDS, claim, meet_at, once_at, run_together
from tests.verification import assert_clean
from tests.workspaces.memory import drain, principal_of, remember, unfinished_jobs
from tests.workspaces.services.test_lineage import LONG, deletion
from tests.workspaces.services.test_revisions import current, revision
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.jobs import ClaimedJob
from workspaces.services.worker import run_job

pytestmark = pytest.mark.slow  # threads and real pauses; revisions are tested without

# Where no database step is open, so that another worker can be played in between.
OUTSIDE_STEPS = ["event.taken_up", "chunk.planned", "leaf.after_file", "leaf.after_commit"]


def claim_event(workspace: Workspace, draft: EventDraft) -> ClaimedJob:
    received = receive_events(workspace, drafts=[draft], principal=principal_of(workspace))
    return claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=received.event_ids[0])


def interleave(
    monkeypatch: pytest.MonkeyPatch,
    workspace: Workspace,
    *,
    slow: EventDraft,
    fast: EventDraft,
    at: str,
) -> list[str]:
    """`fast` is worked on from end to end while `slow` is at a point; the current texts then."""
    first, second = claim_event(workspace, slow), claim_event(workspace, fast)
    once_at(monkeypatch, at, lambda: run_job(second))
    run_job(first)
    monkeypatch.undo()
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)
    return current(workspace)


@pytest.mark.parametrize("at", OUTSIDE_STEPS)
def test_a_revision_is_not_current_when_its_object_was_deleted_meanwhile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    slow, fast = revision("Port is 1."), deletion(minutes=1)
    assert interleave(monkeypatch, workspace, slow=slow, fast=fast, at=at) == []


@pytest.mark.parametrize("at", ["event.taken_up", "event.before_processed"])
def test_a_deletion_deletes_no_revision_that_is_newer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    remember(workspace, revision("Port is 1."))
    slow, fast = deletion(minutes=1), revision("Port is 2.", minutes=2)
    assert interleave(monkeypatch, workspace, slow=slow, fast=fast, at=at) == ["Port is 2."]


@pytest.mark.parametrize("at", OUTSIDE_STEPS)
def test_an_older_revision_that_is_slow_leaves_nothing_current(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    slow, fast = revision("\n\n".join(LONG)), revision("Only this is left.", minutes=1)
    texts = interleave(monkeypatch, workspace, slow=slow, fast=fast, at=at)
    assert texts == ["Only this is left."]


@pytest.mark.parametrize("at", OUTSIDE_STEPS)
def test_a_newer_revision_that_is_slow_is_current_in_the_end(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    slow, fast = revision("Only this is left.", minutes=1), revision("\n\n".join(LONG))
    texts = interleave(monkeypatch, workspace, slow=slow, fast=fast, at=at)
    assert texts == ["Only this is left."]


@pytest.mark.parametrize("at", ["event.taken_up", "chunk.planned"])
def test_a_text_that_another_object_takes_over_is_kept_while_the_first_is_deleted(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    remember(workspace, revision("Licence: MIT.", of="a"))
    slow, fast = revision("Licence: MIT.", of="b", minutes=1), deletion(of="a", minutes=1)
    texts = interleave(monkeypatch, workspace, slow=slow, fast=fast, at=at)
    assert texts == ["Licence: MIT."]


@pytest.mark.parametrize("point", ["chunk.planned", "leaf.after_file"])
def test_revisions_at_once_end_in_the_order_of_their_source(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    remember(workspace, revision("Another.", of="b"))
    jobs = [claim_event(workspace, revision(f"Port is {n}.", minutes=n)) for n in (3, 1, 4, 2)]
    meet_at(monkeypatch, point, workers=len(jobs))
    run_together(jobs)
    monkeypatch.undo()
    drain(workspace)
    assert unfinished_jobs(workspace) == []
    assert sorted(current(workspace)) == ["Another.", "Port is 4."]
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.leaves.count() == 5
    assert_clean(workspace)


def test_the_same_revision_sent_at_once_is_one_event(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    from django.db import connection

    ids = []

    def send() -> None:
        try:
            ids.append(
                receive_events(
                    workspace,
                    drafts=[revision("Port is 1."), revision("Port is 7.", of="b")],
                    principal=principal_of(workspace),
                ).event_ids
            )
        finally:
            connection.close()

    senders = [threading.Thread(target=send, daemon=True) for _ in range(4)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(GATE_SECONDS)
    assert len(ids) == 4
    assert len({tuple(pair) for pair in ids}) == 1

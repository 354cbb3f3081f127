"""Webhooks: written with the change, signed, sent until they arrive, and never with memory."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.environment import get_environment
from holamem.errors import Conflict
from retrieval.definitions import RetrieveRequest
from retrieval.gaps import dismiss_gap
from retrieval.retrieve import retrieve
from tests.receiver import Receiver, receiving
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, principal_of, remember
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.webhooks import Webhook, WebhookDelivery
from workspaces.services.erasure.request import erase_leaf
from workspaces.services.jobs import claim_job, fail_job
from workspaces.services.status import workspace_status
from workspaces.services.webhooks import hooks
from workspaces.services.webhooks.delivering import RETRY_SECONDS
from workspaces.services.webhooks.schedule import queue_due_deliveries, remove_old_deliveries

PORT = "The Atlas gateway listens on port 8443."
NEWER = "The Atlas gateway listens on port 9443 now, no longer on port 8443."


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as found:
        monkeypatch.setenv("HOLAMEM_WEBHOOK_PRIVATE_HOSTS", found.host)
        get_environment.cache_clear()
        yield found
    monkeypatch.undo()
    get_environment.cache_clear()


def hooked(workspace: Workspace, receiver: Receiver, *events: str) -> hooks.Created:
    return hooks.create_webhook(
        workspace, principal=principal_of(workspace), url=receiver.url, events=events
    )


def deliver_due(workspace: Workspace) -> None:
    queue_due_deliveries()
    drain(workspace)


def told(receiver: Receiver) -> list[Any]:
    return [json.loads(body) for _, body in receiver.requests]


def deliveries(workspace: Workspace) -> list[WebhookDelivery]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.webhook_deliveries.order_by("id"))


def make_due(workspace: Workspace) -> None:
    with system_scope():
        rows = WebhookDelivery.objects.filter(workspace=workspace, state="pending")
        rows.update(next_try_at=now() - timedelta(seconds=1))


def test_what_happens_to_a_leaf_is_told_with_ids_and_without_words(
    workspace: Workspace, receiver: Receiver
) -> None:
    hooked(workspace, receiver)
    [first] = remember(workspace, draft(PORT))
    [second] = remember(workspace, draft(NEWER, minutes=5, user_id=None))
    private = remember(workspace, draft("Mara is allergic to nuts.", user_id="mara", minutes=6))[0]
    assert second.chunks[0].outcome == "superseding"
    who = {"principal": principal_of(workspace), "scopes": ALL_SCOPES}
    assert private.chunks[0].leaf_id is not None
    erase_leaf(workspace, leaf_id=private.chunks[0].leaf_id, **who)  # type: ignore[arg-type]
    drain(workspace)
    deliver_due(workspace)
    found = [(message["type"], message["data"]["leaf_id"]) for message in told(receiver)]
    assert sorted(found) == sorted(  # those of one commit come in any order
        [
            ("leaf.created", str(first.chunks[0].leaf_id)),
            ("leaf.superseded", str(first.chunks[0].leaf_id)),
            ("leaf.created", str(second.chunks[0].leaf_id)),
            ("leaf.created", str(private.chunks[0].leaf_id)),
            ("leaf.erased", str(private.chunks[0].leaf_id)),
        ]
    )
    [superseded] = [m for m in told(receiver) if m["type"] == "leaf.superseded"]
    assert superseded["data"]["superseded_by"] == str(second.chunks[0].leaf_id)
    assert {message["workspace"] for message in told(receiver)} == {workspace.slug}
    everything = b"".join(body for _, body in receiver.requests)
    assert b"Atlas" not in everything
    assert b"mara" not in everything
    assert_clean(workspace)


def test_gaps_and_parked_jobs_are_told(workspace: Workspace, receiver: Receiver) -> None:
    hooked(workspace, receiver, "gap.opened", "gap.closed", "job.parked")
    remember(workspace, draft(PORT))
    retrieve(workspace, scopes=None, request=RetrieveRequest(query="Which colour has the moon?"))
    with workspace_scope(workspace, ALL_SCOPES):
        gap = workspace.gaps.get()
        job = _job(workspace)
    dismiss_gap(workspace, scopes=ALL_SCOPES, gap_id=gap.id)
    claimed = claim_job(job.id)
    assert claimed is not None
    fail_job(claimed, error="no use", retry=False)
    deliver_due(workspace)
    assert [(message["type"], message["data"]) for message in told(receiver)] == [
        ("gap.opened", {"gap_id": str(gap.id)}),
        ("gap.closed", {"gap_id": str(gap.id), "status": "dismissed", "answered_by": None}),
        ("job.parked", {"job_id": str(job.id), "topic": "node.created"}),
    ]


def test_a_receiver_can_check_the_signature(workspace: Workspace, receiver: Receiver) -> None:
    made = hooked(workspace, receiver)
    hooks.send_ping(workspace, webhook_id=made.webhook.id)
    drain(workspace)
    [(headers, body)] = receiver.requests
    key = base64.b64decode(made.secret.removeprefix("whsec_"))
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{signature}"
    [delivery] = deliveries(workspace)
    assert headers["webhook-id"] == f"msg_{delivery.id.hex}"
    assert (delivery.state, delivery.answer_status) == ("delivered", 200)
    with workspace_scope(workspace, ALL_SCOPES):
        row = str(workspace.webhooks.values().get())
    assert made.secret not in row


def test_a_change_that_is_taken_back_is_told_to_nobody(
    workspace: Workspace, receiver: Receiver
) -> None:
    hooked(workspace, receiver)
    with pytest.raises(RuntimeError, match="taken back"):
        _park_and_take_back(workspace)
    assert deliveries(workspace) == []


def _park_and_take_back(workspace: Workspace) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        job = _job(workspace)
        workspace.jobs.filter(id=job.id).update(state=Job.State.PARKED)
        assert workspace.webhook_deliveries.count() == 1
        raise RuntimeError("taken back")


def _job(workspace: Workspace) -> Job:
    return Job.objects.create(
        workspace=workspace,
        scope_id=workspace.id,
        topic=Job.Topic.NODE_CREATED,
        target_id=uuid4(),
        next_try_at=now(),
    )


def test_a_refusal_of_one_message_holds_up_no_other(
    workspace: Workspace, receiver: Receiver
) -> None:
    hooked(workspace, receiver, "leaf.created")
    receiver.answers = [500, 200]
    remember(workspace, draft(PORT), draft("Mara owns the Atlas gateway.", minutes=1))
    deliver_due(workspace)
    assert [(row.state, row.answer_status) for row in deliveries(workspace)] == [
        ("pending", 500),
        ("delivered", 200),
    ]
    deliver_due(workspace)
    assert len(receiver.requests) == 2  # not before its time
    make_due(workspace)
    deliver_due(workspace)
    [first, *_] = deliveries(workspace)
    assert (first.state, first.attempts, first.error) == ("delivered", 2, "")
    assert receiver.requests[0][0]["webhook-id"] == receiver.requests[2][0]["webhook-id"]


def test_while_nobody_is_there_one_message_is_tried_and_in_the_end_it_is_switched_off(
    workspace: Workspace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = hooked(workspace, receiver, "leaf.created")
    remember(workspace, draft(PORT), draft("Mara owns the Atlas gateway.", minutes=1))
    monkeypatch.setenv("HOLAMEM_WEBHOOK_PRIVATE_HOSTS", "")
    get_environment.cache_clear()
    for attempt in range(len(RETRY_SECONDS) + 1):
        make_due(workspace)
        deliver_due(workspace)
        first, second = deliveries(workspace)
        assert (first.attempts, second.attempts) == (attempt + 1, 0)
        if attempt == 0:
            assert second.next_try_at > now() + timedelta(seconds=RETRY_SECONDS[0] - 10)
            assert workspace_status(workspace, scopes=ALL_SCOPES).idle
    assert [(row.state, row.error) for row in deliveries(workspace)] == [
        ("failed", "refused_address"),
        ("cancelled", ""),
    ]
    assert not hooks.get_webhook(workspace, webhook_id=made.webhook.id).enabled
    assert receiver.requests == []


def test_one_that_is_switched_off_or_deleted_is_told_nothing(
    workspace: Workspace, receiver: Receiver
) -> None:
    principal = principal_of(workspace)
    off, gone = hooked(workspace, receiver).webhook, hooked(workspace, receiver).webhook
    remember(workspace, draft(PORT))
    hooks.update_webhook(
        workspace, principal=principal, webhook_id=off.id, changes={"enabled": False}
    )
    hooks.delete_webhook(workspace, principal=principal, webhook_id=gone.id)
    remember(workspace, draft("Mara owns the Atlas gateway.", minutes=1))
    deliver_due(workspace)
    assert receiver.requests == []
    assert {row.state for row in deliveries(workspace)} == {"cancelled"}
    with pytest.raises(Conflict):
        hooks.send_ping(workspace, webhook_id=off.id)


def test_another_workspace_is_told_nothing(
    workspace: Workspace, receiver: Receiver, tenant: Any
) -> None:
    from workspaces.services.tenants import create_workspace

    other = create_workspace(tenant, slug="other", name="Other")
    hooked(other, receiver)
    remember(workspace, draft(PORT))
    deliver_due(workspace)
    deliver_due(other)
    assert (receiver.requests, deliveries(other)) == ([], [])


def test_old_deliveries_are_removed_and_pending_ones_are_kept(
    workspace: Workspace, receiver: Receiver
) -> None:
    made = hooked(workspace, receiver, "leaf.created")
    remember(workspace, draft(PORT))
    deliver_due(workspace)
    hooks.send_ping(workspace, webhook_id=made.webhook.id)
    with system_scope():
        rows = WebhookDelivery.objects.filter(workspace=workspace)
        rows.update(created_at=now() - timedelta(days=31))
    remove_old_deliveries()
    assert [row.event for row in deliveries(workspace)] == ["ping"]


def test_a_workspace_has_at_most_so_many(workspace: Workspace, receiver: Receiver) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        Webhook.objects.bulk_create(
            Webhook(workspace=workspace, scope_id=workspace.id, url=receiver.url, salt=str(n))
            for n in range(hooks.MAX_WEBHOOKS)
        )
    with pytest.raises(Conflict):
        hooked(workspace, receiver)

"""Telling one webhook what is due: read, send, write down. No transaction is open while it sends.

A message may arrive twice, when the worker dies between the answer and the note of it; its id
is the same then.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models.functions import Greatest, Now

from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.environment import get_environment
from holamem.errors import InvalidInput
from holamem.outgoing import AddressRefused, NoAnswer, post, target_of
from holamem.version import VERSION
from workspaces.models.tenancy import Workspace
from workspaces.models.webhooks import Webhook, WebhookDelivery
from workspaces.services.jobs import ClaimedJob, TurnOver, require_lease
from workspaces.services.webhooks.signing import signed_headers

# Until the attempt after it: a minute at first, in the end a day. Then the delivery has failed.
RETRY_SECONDS = (60, 300, 1_800, 7_200, 21_600, 43_200, 86_400)
PASS_SECONDS = 45.0  # then other work has its turn
REFUSED_ADDRESS, NO_ANSWER, BAD_ANSWER = "refused_address", "no_answer", "answer"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status` is None when there was no answer; `error` is empty when it was delivered."""

    status: int | None
    error: str

    @property
    def is_nobody_there(self) -> bool:
        return self.status is None


def deliver(workspace: Workspace, job: ClaimedJob) -> None:
    """Oldest first, until nothing is due or nobody is there. Raises TurnOver, LeaseLost."""
    deadline = time.monotonic() + PASS_SECONDS
    while (webhook := _webhook(workspace, job)) is not None:
        delivery = _next(workspace, webhook=webhook)
        if delivery is None:
            return
        outcome = send(workspace, webhook=webhook, delivery=delivery)
        _write_down(workspace, job=job, delivery=delivery, outcome=outcome)
        if outcome.is_nobody_there:
            return
        if time.monotonic() > deadline:
            raise TurnOver


def send(workspace: Workspace, *, webhook: Webhook, delivery: WebhookDelivery) -> Outcome:
    allowed = get_environment().webhook_private_host_list
    body = json.dumps(message_of(workspace, delivery=delivery), ensure_ascii=False).encode()
    signed = signed_headers(webhook, message_id=f"msg_{delivery.id.hex}", moment=now(), body=body)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"holamem/{VERSION}",
        "Connection": "close",
        **signed,
    }
    try:
        target = target_of(webhook.url, private_hosts=allowed)
        status = post(target, body=body, headers=headers, private_hosts=allowed)
    except (AddressRefused, InvalidInput):
        return Outcome(None, REFUSED_ADDRESS)
    except NoAnswer:
        return Outcome(None, NO_ANSWER)
    return Outcome(status, "" if 200 <= status < 300 else BAD_ANSWER)


def message_of(workspace: Workspace, *, delivery: WebhookDelivery) -> Mapping[str, Any]:
    """Ids, never memory: a receiver that wants to know more asks with its key."""
    return {
        "type": delivery.event,
        "timestamp": delivery.created_at.isoformat(),
        "workspace": workspace.slug,
        "data": delivery.data,
    }


def _webhook(workspace: Workspace, job: ClaimedJob) -> Webhook | None:
    with workspace_scope(workspace, [job.scope_id]):
        return workspace.webhooks.filter(id=job.target_id, enabled=True).first()


def _next(workspace: Workspace, *, webhook: Webhook) -> WebhookDelivery | None:
    with workspace_scope(workspace, [webhook.scope_id]):
        return (
            workspace.webhook_deliveries.filter(
                webhook_id=webhook.id,
                state=WebhookDelivery.State.PENDING,
                next_try_at__lte=Now(),
            )
            .order_by("id")
            .first()
        )


def _write_down(
    workspace: Workspace, *, job: ClaimedJob, delivery: WebhookDelivery, outcome: Outcome
) -> None:
    """One that was cancelled meanwhile stays so. Nobody there: the others wait as long."""
    with workspace_scope(workspace, [delivery.scope_id]):
        require_lease(job)
        pending = workspace.webhook_deliveries.filter(
            webhook_id=delivery.webhook_id, state=WebhookDelivery.State.PENDING
        )
        columns = _columns(delivery, outcome=outcome)
        pending.filter(id=delivery.id).update(**columns)
        if not outcome.is_nobody_there:
            return
        if columns.get("state") == WebhookDelivery.State.FAILED:
            _switch_off(workspace, delivery=delivery)
        pause = timedelta(seconds=_pause(delivery.attempts))
        pending.update(next_try_at=Greatest("next_try_at", Now() + pause))


def _switch_off(workspace: Workspace, *, delivery: WebhookDelivery) -> None:
    """Nobody was there for days: what waits would only grow."""
    workspace.webhooks.filter(id=delivery.webhook_id).update(enabled=False)
    workspace.webhook_deliveries.filter(
        webhook_id=delivery.webhook_id, state=WebhookDelivery.State.PENDING
    ).update(state=WebhookDelivery.State.CANCELLED)


def _columns(delivery: WebhookDelivery, *, outcome: Outcome) -> dict[str, Any]:
    attempts = delivery.attempts + 1
    columns = {"attempts": attempts, "answer_status": outcome.status, "error": outcome.error}
    if not outcome.error:
        return {**columns, "state": WebhookDelivery.State.DELIVERED, "delivered_at": Now()}
    if attempts > len(RETRY_SECONDS):
        return {**columns, "state": WebhookDelivery.State.FAILED}
    return {**columns, "next_try_at": Now() + timedelta(seconds=_pause(delivery.attempts))}


def _pause(attempts_before: int) -> int:
    return RETRY_SECONDS[min(attempts_before, len(RETRY_SECONDS) - 1)]

"""Webhooks of a workspace: make, look up, change, stop, and what each was told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_hex
from typing import Any
from uuid import UUID

from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.environment import get_environment
from holamem.errors import Conflict, NotFound
from holamem.outgoing import target_of
from workspaces.models.tenancy import Workspace
from workspaces.models.webhooks import Webhook, WebhookDelivery
from workspaces.services.audit import record
from workspaces.services.listing import Listed, Slice, read_slice
from workspaces.services.principals import Principal
from workspaces.services.webhooks.schedule import queue_delivery
from workspaces.services.webhooks.signing import secret_of

MAX_WEBHOOKS = 20
SALT_BYTES = 16
PING = "ping"


@dataclass(frozen=True, slots=True)
class Created:
    """`secret` is shown this once; it can be made again, but is told to nobody."""

    webhook: Webhook
    secret: str


def create_webhook(
    workspace: Workspace, *, principal: Principal, url: str, events: Sequence[str]
) -> Created:
    """`events` empty: all of them. Raises InvalidInput for the address, Conflict for the number."""
    _check_url(url)
    with workspace_scope(workspace):
        if workspace.webhooks.filter(deleted_at=None).count() >= MAX_WEBHOOKS:
            raise Conflict(f"A workspace has at most {MAX_WEBHOOKS} webhooks.")
        webhook = workspace.webhooks.create(
            scope_id=workspace.id,
            url=url,
            events=sorted(set(events)),
            salt=token_hex(SALT_BYTES),
        )
        _note(workspace, principal=principal, action="created", webhook=webhook)
    return Created(webhook, secret_of(webhook))


def list_webhooks(workspace: Workspace, *, wanted: Slice) -> Listed[Webhook]:
    """Oldest first, without those that were deleted."""
    with workspace_scope(workspace):
        rows = workspace.webhooks.filter(deleted_at=None)
        return read_slice(rows, wanted=wanted, newest_first=False)


def get_webhook(workspace: Workspace, *, webhook_id: UUID) -> Webhook:
    """Raises NotFound."""
    with workspace_scope(workspace):
        return _found(workspace, webhook_id=webhook_id)


def update_webhook(
    workspace: Workspace, *, principal: Principal, webhook_id: UUID, changes: Mapping[str, Any]
) -> Webhook:
    """`changes` of url, events and enabled. One that is switched off is told nothing meanwhile."""
    if "url" in changes:
        _check_url(changes["url"])
    with workspace_scope(workspace):
        webhook = _found(workspace, webhook_id=webhook_id, lock=True)
        for name in ("url", "events", "enabled"):
            if name in changes:
                setattr(webhook, name, changes[name])
        webhook.save(update_fields=["url", "events", "enabled"])
        if not webhook.enabled:
            _cancel_pending(webhook)
        _note(workspace, principal=principal, action="changed", webhook=webhook)
    return webhook


def delete_webhook(workspace: Workspace, *, principal: Principal, webhook_id: UUID) -> None:
    """The row stays for its deliveries; its address, which may hold a secret, does not."""
    with workspace_scope(workspace):
        webhook = _found(workspace, webhook_id=webhook_id, lock=True)
        webhook.enabled, webhook.deleted_at, webhook.url = False, now(), ""
        webhook.save(update_fields=["enabled", "deleted_at", "url"])
        _cancel_pending(webhook)
        _note(workspace, principal=principal, action="deleted", webhook=webhook)


def list_deliveries(
    workspace: Workspace, *, webhook_id: UUID, state: str | None, wanted: Slice
) -> Listed[WebhookDelivery]:
    """Newest first. Raises NotFound when there is no such webhook."""
    with workspace_scope(workspace):
        _found(workspace, webhook_id=webhook_id)
        rows = workspace.webhook_deliveries.filter(webhook_id=webhook_id)
        rows = rows if state is None else rows.filter(state=state)
        return read_slice(rows, wanted=wanted, newest_first=True)


def send_ping(workspace: Workspace, *, webhook_id: UUID) -> WebhookDelivery:
    """Queue a message that only says hello. Raises NotFound, Conflict when it is switched off."""
    with workspace_scope(workspace):
        webhook = _found(workspace, webhook_id=webhook_id)
        if not webhook.enabled:
            raise Conflict("This webhook is switched off.")
        moment = now()
        delivery = _new_delivery(workspace, webhook=webhook, moment=moment)
        queue_delivery(workspace, webhook=webhook)
    return delivery


def _new_delivery(workspace: Workspace, *, webhook: Webhook, moment: datetime) -> WebhookDelivery:
    return workspace.webhook_deliveries.create(
        scope_id=webhook.scope_id,
        webhook=webhook,
        event=PING,
        next_try_at=moment,
        created_at=moment,
    )


def _check_url(url: str) -> None:
    target_of(url, private_hosts=get_environment().webhook_private_host_list)


def _found(workspace: Workspace, *, webhook_id: UUID, lock: bool = False) -> Webhook:
    rows = workspace.webhooks.filter(id=webhook_id, deleted_at=None)
    webhook = (rows.select_for_update() if lock else rows).first()
    if webhook is None:
        raise NotFound("There is no such webhook.")
    return webhook


def _cancel_pending(webhook: Webhook) -> None:
    webhook.deliveries.filter(state=WebhookDelivery.State.PENDING).update(
        state=WebhookDelivery.State.CANCELLED
    )


def _note(workspace: Workspace, *, principal: Principal, action: str, webhook: Webhook) -> None:
    """Not the address: it may hold a secret."""
    record(
        workspace,
        principal=principal,
        action=f"webhook.{action}",
        target_id=webhook.id,
        detail={"events": list(webhook.events), "enabled": webhook.enabled},
    )

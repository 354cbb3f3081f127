"""Connectors of a workspace: make, look up, ask for a pass, stop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError

from holamem.database.scope import workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from workspaces.connectors.registry import kind_named
from workspaces.models.connectors import Connector
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.audit import record
from workspaces.services.intake import check_provider, refuse_secret_names
from workspaces.services.jobs import add_job
from workspaces.services.listing import Listed, Slice, read_slice
from workspaces.services.principals import Principal

Scopes = Sequence[UUID] | str | None
ALLOW_DELETIONS = "allow_deletions"  # in a job's payload
PRIORITY = 120  # behind what people and agents wait for
MAX_INTERVAL_MINUTES = 44_640  # a month


@dataclass(frozen=True, slots=True)
class SyncRequested:
    connector_id: UUID
    job_id: UUID


def create_connector(
    workspace: Workspace,
    *,
    principal: Principal,
    provider: str,
    account: str,
    kind: str,
    settings: Mapping[str, Any],
    interval_minutes: int | None = None,
) -> Connector:
    """For the shared memory. One that was stopped is taken up again with what is given here.

    Raises InvalidInput naming the field, Conflict when the account is connected already.
    """
    _refuse_one_users_key(principal)
    _check_names(provider=provider, account=account)
    if interval_minutes is not None and not 1 <= interval_minutes <= MAX_INTERVAL_MINUTES:
        raise InvalidInput("Minutes, up to a month, are expected.", field="interval_minutes")
    checked = kind_named(kind).validate_settings(settings, tenant=workspace.tenant.slug)
    given = {"kind": kind, "settings": checked, "interval_minutes": interval_minutes}
    try:
        with workspace_scope(workspace):
            connector = _make(workspace, provider=provider, account=account, given=given)
            _note(workspace, principal=principal, action="created", connector=connector)
    except IntegrityError as error:
        raise _taken() from error
    return connector


def _make(
    workspace: Workspace, *, provider: str, account: str, given: Mapping[str, Any]
) -> Connector:
    known = (
        workspace.connectors.select_for_update().filter(provider=provider, account=account).first()
    )
    if known is None:
        return workspace.connectors.create(
            scope_id=workspace.id, provider=provider, account=account, **given
        )
    if known.enabled:
        raise _taken()
    for name, value in {**given, "enabled": True, "cursor": {}, "error": ""}.items():
        setattr(known, name, value)
    known.save()
    return known


def _taken() -> Conflict:
    return Conflict("This account is connected already.", field="account")


def _refuse_one_users_key(principal: Principal) -> None:
    if principal.end_user_id is not None:
        raise PermissionDenied("A key of one end user does not connect the shared memory.")


def _check_names(*, provider: str, account: str) -> None:
    """Both are parts of addresses and of a tree's key."""
    check_provider(provider)
    for field, value in (("provider", provider), ("account", account)):
        if not value or "/" in value or value in (".", ".."):
            raise InvalidInput("This cannot be part of an address.", field=field)
    refuse_secret_names(provider=provider, account=account)


def list_connectors(workspace: Workspace, *, scopes: Scopes, wanted: Slice) -> Listed[Connector]:
    """Oldest first, stopped ones too."""
    with workspace_scope(workspace, scopes):
        return read_slice(workspace.connectors.all(), wanted=wanted, newest_first=False)


def get_connector(
    workspace: Workspace, *, scopes: Scopes, provider: str, account: str
) -> Connector:
    """Raises NotFound."""
    with workspace_scope(workspace, scopes):
        return _found(workspace, provider=provider, account=account)


def request_sync(
    workspace: Workspace,
    *,
    principal: Principal,
    scopes: Scopes,
    provider: str,
    account: str,
    allow_deletions: bool = False,
) -> SyncRequested:
    """Queue a pass; one that waits already is enough. Raises NotFound, and Conflict when stopped.

    `allow_deletions`: this pass may delete here what is gone at the source, however much that is.
    """
    with workspace_scope(workspace, scopes):
        connector = _found(workspace, provider=provider, account=account, lock=True)
        if not connector.enabled:
            raise Conflict("This integration is stopped.")
        job_id = queue_sync(workspace, connector=connector)
        if allow_deletions:
            workspace.jobs.filter(id=job_id).update(payload={ALLOW_DELETIONS: True})
        action = "synced_with_deletions" if allow_deletions else "synced"
        _note(workspace, principal=principal, action=action, connector=connector)
    return SyncRequested(connector.id, job_id)


def queue_sync(workspace: Workspace, *, connector: Connector) -> UUID:
    """Inside the caller's step, the connector's row locked. Returns the id of the waiting job."""
    add_job(
        workspace,
        topic=Job.Topic.CONNECTOR_SYNC,
        target_id=connector.id,
        scope_id=connector.scope_id,
        priority=PRIORITY,
    )
    if connector.status != Connector.Status.RUNNING:
        connector.status = Connector.Status.QUEUED
        connector.save(update_fields=["status"])
    return workspace.jobs.get(
        topic=Job.Topic.CONNECTOR_SYNC, target_id=connector.id, state=Job.State.READY
    ).id


def disable_connector(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, provider: str, account: str
) -> None:
    """Stop it. What it brought is kept; a pass that runs ends with its page. Raises NotFound."""
    with workspace_scope(workspace, scopes):
        connector = _found(workspace, provider=provider, account=account, lock=True)
        connector.enabled = False
        connector.save(update_fields=["enabled"])
        _note(workspace, principal=principal, action="stopped", connector=connector)


def _found(workspace: Workspace, *, provider: str, account: str, lock: bool = False) -> Connector:
    rows = workspace.connectors.filter(provider=provider, account=account)
    connector = (rows.select_for_update() if lock else rows).first()
    if connector is None:
        raise NotFound("There is no such integration.")
    return connector


def _note(workspace: Workspace, *, principal: Principal, action: str, connector: Connector) -> None:
    record(
        workspace,
        principal=principal,
        action=f"integration.{action}",
        target_id=connector.id,
        detail={"provider": connector.provider, "account": connector.account},
        scope_id=connector.scope_id,
    )

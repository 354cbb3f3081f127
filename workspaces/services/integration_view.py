"""Connectors as people look at them: how far each was read, and what came of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from workspaces.models.connectors import Connector
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import Tree
from workspaces.services.paging import Page, read_page

MOVING = (Connector.Status.QUEUED, Connector.Status.RUNNING)
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class Passed:
    """Counts of the pass that runs, or of the last one; `total` is None while it is not known.

    `held_deletions`: objects that are gone at the source and wait for somebody to say that they
    are meant to be.
    """

    seen: int
    total: int | None
    changed: int
    deleted: int
    failed: int
    held_deletions: int


@dataclass(frozen=True, slots=True)
class ConnectorRow:
    """`objects` are those that the source held last; `leaves` are current ones of its tree."""

    id: UUID
    provider: str
    account: str
    kind: str
    status: str
    enabled: bool
    error: str
    progress: Passed
    started_at: datetime | None
    finished_at: datetime | None
    objects: int
    leaves: int
    tree_id: UUID | None
    can_sync: bool

    @property
    def is_moving(self) -> bool:
        return self.status in MOVING


def list_connector_rows(workspace: Workspace, *, scopes: Scopes, page: int) -> Page[ConnectorRow]:
    """By provider and account. Three queries, whatever the number of rows."""
    with workspace_scope(workspace, scopes):
        rows = workspace.connectors.order_by("provider", "account", "id")
        return read_page(rows, number=page).map(lambda found: _rows(workspace, found))


def connector_of(workspace: Workspace, *, scopes: Scopes, connector_id: UUID) -> ConnectorRow:
    """Raises NotFound."""
    with workspace_scope(workspace, scopes):
        found = _rows(workspace, workspace.connectors.filter(id=connector_id))
    if not found:
        raise NotFound("There is no such integration.")
    return found[0]


def _rows(workspace: Workspace, connectors: Iterable[Connector]) -> list[ConnectorRow]:
    connectors = list(connectors)
    held = workspace.connector_objects.filter(connector__in=connectors, is_deleted=False)
    counted = held.order_by().values("connector").annotate(n=Count("id"))
    objects = dict(counted.values_list("connector", "n"))
    trees = {
        (tree.scope_id, tree.provider, tree.account): tree
        for tree in workspace.trees.filter(
            category=Category.INTEGRATION,
            provider__in={connector.provider for connector in connectors},
            account__in={connector.account for connector in connectors},
        )
    }
    return [
        _row(
            connector,
            objects=objects.get(connector.id, 0),
            tree=trees.get((connector.scope_id, connector.provider, connector.account)),
        )
        for connector in connectors
    ]


def _row(connector: Connector, *, objects: int, tree: Tree | None) -> ConnectorRow:
    counts = connector.progress
    return ConnectorRow(
        id=connector.id,
        provider=connector.provider,
        account=connector.account,
        kind=connector.kind,
        status=connector.status,
        enabled=connector.enabled,
        error=connector.error,
        progress=Passed(
            seen=counts.get("seen", 0),
            total=counts.get("total"),
            changed=counts.get("changed", 0),
            deleted=counts.get("deleted", 0),
            failed=counts.get("failed", 0),
            held_deletions=counts.get("held_deletions", 0),
        ),
        started_at=connector.last_started_at,
        finished_at=connector.last_finished_at,
        objects=objects,
        leaves=tree.leaf_count if tree else 0,
        tree_id=tree.id if tree else None,
        can_sync=connector.enabled and connector.status not in MOVING,
    )

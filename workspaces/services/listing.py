"""Lists for programs, by keyset: a page starts after a row, not after a count of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from django.db.models import Count, Model, QuerySet

from holamem.database.scope import system_scope, workspace_scope
from workspaces import access
from workspaces.models.jobs import Job
from workspaces.models.log import Event
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.trees import LIVE_SUMMARIES, Tree
from workspaces.services.intake import stored_identifier
from workspaces.services.principals import Principal
from workspaces.services.tree_view import owner_names

Scopes = Sequence[UUID] | str | None


class HasId(Protocol):
    @property
    def id(self) -> UUID: ...


Row = TypeVar("Row")
Stored = TypeVar("Stored", bound=Model)
Identified = TypeVar("Identified", bound=HasId)


@dataclass(frozen=True, slots=True)
class Slice:
    """`limit` rows that follow `after` (or precede it, `backwards`); from the start when None."""

    limit: int
    after: UUID | None = None
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class Listed(Generic[Row]):
    """Rows in the list's own order, whichever way they were read."""

    rows: list[Row]
    has_next: bool
    has_previous: bool


@dataclass(frozen=True, slots=True)
class TreeLine:
    """`summary_count` counts live summaries; `user_id` is None for a shared tree."""

    id: UUID
    key: str
    category: str
    title: str
    status: str
    leaf_count: int
    summary_count: int
    height: int
    root_id: UUID | None
    user_id: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EventLine:
    id: UUID
    kind: str
    category: str
    status: str
    user_id: str | None
    actor: str
    session: str
    source: str
    external_id: str
    deleted: bool
    occurred_at: datetime | None
    received_at: datetime
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class EntityLine:
    id: UUID
    slug: str
    name: str
    type: str
    aliases: list[str]
    description: str
    is_system: bool
    user_id: str | None
    created_at: datetime


def tenant_of(principal: Principal) -> Tenant:
    with system_scope():
        return Tenant.objects.get(id=principal.tenant_id)


def slice_rows(rows: Sequence[Identified], *, wanted: Slice) -> Listed[Identified]:
    """A slice of a list that is in memory already. A row that vanished gives an empty slice."""
    ids = [row.id for row in rows]
    if wanted.after is not None and wanted.after not in ids:
        return Listed([], has_next=False, has_previous=False)
    if wanted.backwards and wanted.after is not None:
        end = ids.index(wanted.after)
        start = max(0, end - wanted.limit)
    else:
        start = 0 if wanted.after is None else ids.index(wanted.after) + 1
        end = min(len(rows), start + wanted.limit)
    return Listed(list(rows[start:end]), has_next=end < len(rows), has_previous=start > 0)


def list_trees(
    workspace: Workspace, *, scopes: Scopes, wanted: Slice, category: str | None = None
) -> Listed[TreeLine]:
    """Trees that hold leaves, oldest first."""
    with workspace_scope(workspace, scopes):
        rows = workspace.trees.exclude(status=Tree.Status.EMPTY)
        if category is not None:
            rows = rows.filter(category=category)
        found = read_slice(rows, wanted=wanted, newest_first=False)
        return Listed(_tree_lines(workspace, found.rows), found.has_next, found.has_previous)


def tree_line(workspace: Workspace, *, scopes: Scopes, key: str) -> TreeLine:
    """Raises NotFound."""
    tree = access.get_tree(workspace, scopes=scopes, key=key)
    with workspace_scope(workspace, scopes):
        return _tree_lines(workspace, [tree])[0]


def list_events(
    workspace: Workspace,
    *,
    scopes: Scopes,
    wanted: Slice,
    status: str | None = None,
    kind: str | None = None,
    session: str | None = None,
) -> Listed[EventLine]:
    """Newest first."""
    stored = None if session is None else stored_identifier(workspace, session).text
    named = {"status": status, "kind": kind, "session_ref": stored}
    with workspace_scope(workspace, scopes):
        rows = workspace.events.filter(**{k: v for k, v in named.items() if v is not None})
        found = read_slice(rows.defer("payload_text", "metadata"), wanted=wanted, newest_first=True)
        return Listed(_event_lines(workspace, found.rows), found.has_next, found.has_previous)


def list_jobs(
    workspace: Workspace,
    *,
    scopes: Scopes,
    wanted: Slice,
    state: str | None = None,
    topic: str | None = None,
) -> Listed[Job]:
    """Newest first."""
    named = {"state": state, "topic": topic}
    with workspace_scope(workspace, scopes):
        rows = workspace.jobs.filter(**{k: v for k, v in named.items() if v is not None})
        return read_slice(rows, wanted=wanted, newest_first=True)


def list_entities(
    workspace: Workspace, *, scopes: Scopes, wanted: Slice, type: str | None = None
) -> Listed[EntityLine]:
    """Oldest first."""
    with workspace_scope(workspace, scopes):
        rows = workspace.entities.filter(merged_into=None)
        if type is not None:
            rows = rows.filter(type=type)
        found = read_slice(rows, wanted=wanted, newest_first=False)
        owners = owner_names(workspace, scope_ids=[row.scope_id for row in found.rows])
        lines = [
            EntityLine(
                id=row.id,
                slug=row.slug,
                name=row.name,
                type=row.type,
                aliases=list(row.aliases),
                description=row.description,
                is_system=row.is_system,
                user_id=owners.get(row.scope_id),
                created_at=row.created_at,
            )
            for row in found.rows
        ]
        return Listed(lines, found.has_next, found.has_previous)


def read_slice(rows: QuerySet[Stored], *, wanted: Slice, newest_first: bool) -> Listed[Stored]:
    """One query. Ids are UUIDv7, so their order is the order of making."""
    descending = newest_first != wanted.backwards
    if wanted.after is not None:
        rows = rows.filter(**{"id__lt" if descending else "id__gt": wanted.after})
    found = list(rows.order_by("-id" if descending else "id")[: wanted.limit + 1])
    more = len(found) > wanted.limit
    found = found[: wanted.limit]
    if wanted.backwards:
        return Listed(found[::-1], has_next=True, has_previous=more)
    return Listed(found, has_next=more, has_previous=wanted.after is not None)


def _tree_lines(workspace: Workspace, trees: Sequence[Tree]) -> list[TreeLine]:
    live = workspace.summaries.filter(
        tree__in=[tree.id for tree in trees], status__in=LIVE_SUMMARIES
    )
    counted = live.order_by().values("tree").annotate(n=Count("id"))
    counts = dict(counted.values_list("tree", "n"))
    owners = owner_names(workspace, scope_ids=[tree.scope_id for tree in trees])
    return [
        TreeLine(
            id=tree.id,
            key=tree.key,
            category=tree.category,
            title=tree.title,
            status=tree.status,
            leaf_count=tree.leaf_count,
            summary_count=counts.get(tree.id, 0),
            height=tree.height,
            root_id=tree.root_id,
            user_id=owners.get(tree.scope_id),
            updated_at=tree.updated_at,
        )
        for tree in trees
    ]


def _event_lines(workspace: Workspace, events: Sequence[Event]) -> list[EventLine]:
    owners = owner_names(workspace, scope_ids=[event.scope_id for event in events])
    return [
        EventLine(
            id=event.id,
            kind=event.kind,
            category=event.category,
            status=event.status,
            user_id=owners.get(event.scope_id),
            actor=event.actor,
            session=event.session_ref,
            source=event.source,
            external_id=event.external_id,
            deleted=event.deleted,
            occurred_at=event.occurred_at,
            received_at=event.received_at,
            attempts=event.attempts,
            error=event.error,
        )
        for event in events
    ]

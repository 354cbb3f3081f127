"""End users as their tenant sees them: who they are, how much is known, and all of it as one file."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from holamem.database.scope import workspace_scope
from holamem.errors import HolamemError, NotFound, PermissionDenied
from workspaces.bodies import read_markdown
from workspaces.models.log import Event
from workspaces.models.tenancy import ApiKey, EndUser, Workspace
from workspaces.models.trees import GONE_LEAVES, SourceLeaf
from workspaces.services.listing import Listed, Slice, read_slice
from workspaces.services.principals import Principal

# Rows of JSON that another app keeps of a person, by the name of their section.
Exporter = Callable[[Workspace, EndUser], list[dict[str, Any]]]
SECTIONS = ("conversations", "text_memory")
_exporters: dict[str, Exporter] = {}


def register_exporter(section: str, exporter: Exporter) -> None:
    """Called once when the app that keeps it is ready; `section` is one of SECTIONS."""
    _exporters[section] = exporter


@dataclass(frozen=True, slots=True)
class EndUserLine:
    id: UUID
    ref: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class EndUserDetail:
    """`leaves` are active ones; `last_event_at` is None for somebody without events."""

    ref: str
    name: str
    created_at: datetime
    leaves: int
    trees: int
    events: int
    last_event_at: datetime | None


def list_end_users(
    workspace: Workspace, *, principal: Principal, wanted: Slice
) -> Listed[EndUserLine]:
    """Oldest first; for a key of one end user that one. Raises PermissionDenied."""
    if principal.end_user_id is None and not principal.allows(ApiKey.Permission.MEMORY_ALL_USERS):
        raise PermissionDenied("This needs the permission memory:all_users.")
    with workspace_scope(workspace):
        found = read_slice(_visible(workspace, principal), wanted=wanted, newest_first=False)
    lines = [EndUserLine(row.id, row.ref, row.name, row.created_at) for row in found.rows]
    return Listed(lines, found.has_next, found.has_previous)


def find_end_user(workspace: Workspace, *, principal: Principal, ref: str) -> EndUser:
    """Raises NotFound; for a key of one end user everybody else is absent."""
    with workspace_scope(workspace):
        user = _visible(workspace, principal).filter(ref=ref).first()
    if user is None:
        raise NotFound("There is no such end user.")
    return user


def end_user_detail(workspace: Workspace, *, user: EndUser) -> EndUserDetail:
    with workspace_scope(workspace, [user.id]):
        events = workspace.events.filter(scope_id=user.id)
        active = workspace.leaves.filter(scope_id=user.id, status=SourceLeaf.Status.ACTIVE)
        return EndUserDetail(
            ref=user.ref,
            name=user.name,
            created_at=user.created_at,
            leaves=active.count(),
            trees=workspace.trees.filter(scope_id=user.id, leaf_count__gt=0).count(),
            events=events.count(),
            last_event_at=events.order_by("-id").values_list("received_at", flat=True).first(),
        )


def export_end_user(workspace: Workspace, *, user: EndUser) -> dict[str, Any]:
    """All that is kept of a person, for the person: memory with its history, and what came in."""
    with workspace_scope(workspace, [user.id]):
        rows = workspace.leaves.select_related("tree", "entity").filter(scope_id=user.id)
        leaves = list(rows.exclude(status__in=GONE_LEAVES).order_by("id"))
        events = list(workspace.events.filter(scope_id=user.id).order_by("id"))
        entities = list(workspace.entities.filter(scope_id=user.id, is_system=False).order_by("id"))
        lines = [_event(event) for event in events]
    return {
        "user": {
            "user_id": user.ref,
            "name": user.name,
            "metadata": user.metadata,
            "created_at": user.created_at,
        },
        "leaves": [_leaf(leaf) for leaf in leaves],
        "entities": [
            {"name": row.name, "type": row.type, "aliases": row.aliases, "about": row.description}
            for row in entities
        ],
        "events": lines,
        **{name: _section(workspace, user=user, name=name) for name in SECTIONS},
    }


def _section(workspace: Workspace, *, user: EndUser, name: str) -> list[dict[str, Any]]:
    exporter = _exporters.get(name)
    return [] if exporter is None else exporter(workspace, user)


def _visible(workspace: Workspace, principal: Principal) -> QuerySet[EndUser]:
    bound = Q() if principal.end_user_id is None else Q(id=principal.end_user_id)
    return workspace.end_users.filter(bound, erased_at=None)


def _leaf(leaf: SourceLeaf) -> dict[str, Any]:
    """`text` is null where the body store does not give it; the summary is there in any case."""
    text = None
    with suppress(HolamemError, OSError):
        text = read_markdown(leaf.body_path, sha256=leaf.body_sha256)
    return {
        "leaf_id": leaf.id,
        "tree_key": leaf.tree.key,
        "entity": leaf.entity.name if leaf.entity else None,
        "status": leaf.status,
        "title": leaf.title,
        "summary": leaf.summary,
        "text": text,
        "observed_at": leaf.observed_at,
        "origin_kind": leaf.origin_kind,
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "event_id": event.id,
        "kind": event.kind,
        "text": event.payload_text,
        "metadata": event.metadata,
        "actor": event.actor,
        "session": event.session_ref,
        "source": event.source,
        "external_id": event.external_id,
        "occurred_at": event.occurred_at,
        "received_at": event.received_at,
    }

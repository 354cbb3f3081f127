"""Pages: what sessions carry with them, an index and topics, with versions and deletion."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from agents.hot.text_memory import Writer, delete_topic, frozen_indexes, list_versions
from agents.models.hot_memory import TextMemory, TextMemoryVersion
from holamem.database.scope import workspace_scope
from holamem.errors import HolamemError, NotFound
from retrieval.dashboard.reads import end_user_refs
from workspaces.dashboard.changing import refused, told
from workspaces.dashboard.page import Place, render_page, workspace_action, workspace_page
from workspaces.dashboard.trees import Change, word_changes
from workspaces.models.tenancy import Workspace
from workspaces.rendering import Rendered, render_markdown
from workspaces.services.principals import select_scopes

Scopes = Sequence[UUID] | str | None
SHOWN_VERSIONS = 20
SHOWN_HOLDERS = 10  # different frozen indexes; older ones belong to sessions nobody goes on with


@dataclass(frozen=True, slots=True)
class Holder:
    """Sessions that carry the same frozen index; `is_now` when a new one would get it too."""

    sha256: str
    sessions: int
    last_at: datetime
    is_now: bool


@dataclass(frozen=True, slots=True)
class Version:
    """`changes` lead from the version before to this one."""

    row: TextMemoryVersion
    changes: list[Change]


@workspace_page
def text_list(request: HttpRequest, place: Place) -> HttpResponse:
    """Of the workspace, or of the end user in `user`."""
    user = request.GET.get("user", "").replace("\x00", "").strip()
    scope_id = _scope_of(place, user=user)
    found = texts_of(place.workspace, scopes=place.scopes, scope_id=scope_id)
    index = next((row for row in found if row.kind == TextMemory.Kind.INDEX), None)
    topics = [row for row in found if row.kind == TextMemory.Kind.TOPIC]
    return render_page(
        request,
        "dashboard/text_memories.html",
        place,
        section="text",
        tab="text",
        chosen=user,
        users=end_user_refs(place.workspace),
        index=index,
        body=_index_body(place, index=index, topics=topics),
        topics=topics,
        holders=holders_of(place.workspace, scopes=place.scopes, scope_id=scope_id),
    )


def _scope_of(place: Place, *, user: str) -> UUID:
    if not user or user == "*":
        return place.workspace.id
    selected = select_scopes(place.workspace, principal=place.principal, user_id=user)
    if selected.write_scope == place.workspace.id:
        raise NotFound("There is no such end user.")
    return selected.write_scope


def _index_body(
    place: Place, *, index: TextMemory | None, topics: Sequence[TextMemory]
) -> Rendered | None:
    """The lines lead to the pages of their topics, in place of files that are none."""
    if index is None or not index.content:
        return None
    content = index.content
    for row in topics:
        address = place.address("dashboard_text_memory", row.id)
        content = content.replace(f"](topics/{row.name}.md)", f"]({address})")
    return render_markdown(content)


def texts_of(workspace: Workspace, *, scopes: Scopes, scope_id: UUID) -> list[TextMemory]:
    with workspace_scope(workspace, scopes):
        rows = workspace.text_memories.filter(scope_id=scope_id, deleted_at=None)
        return list(rows.order_by("kind", "name"))


def holders_of(workspace: Workspace, *, scopes: Scopes, scope_id: UUID) -> list[Holder]:
    """By the index that they hold, that of the newest session first."""
    now_held = frozen_indexes(workspace, scope_id=scope_id).sha256
    with workspace_scope(workspace, scopes):
        rows = workspace.sessions.filter(scope_id=scope_id).exclude(frozen_index_sha256="")
        found = (
            rows.order_by()
            .values("frozen_index_sha256")
            .annotate(sessions=Count("id"), last_at=Max("frozen_at"))
            .order_by("-last_at")[:SHOWN_HOLDERS]
        )
        return [
            Holder(
                row["frozen_index_sha256"],
                row["sessions"],
                row["last_at"],
                row["frozen_index_sha256"] == now_held,
            )
            for row in found
        ]


@workspace_page
def text_one(request: HttpRequest, place: Place, memory_id: UUID) -> HttpResponse:
    row = _row(place, memory_id)
    versions = list_versions(
        place.workspace,
        scopes=place.scopes,
        scope_id=row.scope_id,
        kind=row.kind,
        name=row.name,
    )
    return render_page(
        request,
        "dashboard/text_memory.html",
        place,
        section="text",
        tab="text",
        row=row,
        owner=_owner(place, row),
        body=render_markdown(row.content) if row.content else None,
        versions=versions_of(versions),
        can_delete=_may_delete(place, row),
    )


def versions_of(versions: Sequence[TextMemoryVersion]) -> list[Version]:
    """Newest first, each with its difference to the one before it."""
    before = [*versions[1:], None]
    pairs: list[tuple[Any, Any]] = list(zip(versions, before, strict=True))
    return [
        Version(row, word_changes(old.content if old is not None else "", row.content))
        for row, old in pairs[:SHOWN_VERSIONS]
    ]


def _row(place: Place, memory_id: UUID) -> TextMemory:
    """Also one that was deleted: its versions are kept. Raises NotFound."""
    with workspace_scope(place.workspace, place.scopes):
        row = place.workspace.text_memories.filter(id=memory_id, version__gt=0).first()
    if row is None:
        raise NotFound("There is no such text memory.")
    return row


def _owner(place: Place, row: TextMemory) -> str:
    if row.scope_id == place.workspace.id:
        return ""
    with workspace_scope(place.workspace, place.scopes):
        users = place.workspace.end_users.filter(id=row.scope_id)
        return users.values_list("ref", flat=True).first() or ""


def _may_delete(place: Place, row: TextMemory) -> bool:
    """The workspace's topics: who may write. An end user's: they themselves, or an admin here."""
    if row.kind != TextMemory.Kind.TOPIC or row.deleted_at is not None:
        return False
    return place.can_write if row.scope_id == place.workspace.id else place.can_manage


@workspace_action
def text_delete(request: HttpRequest, place: Place, memory_id: UUID) -> HttpResponse:
    """`version` is what the person has read; a later one is not deleted unseen."""
    place.require_write()
    row = _row(place, memory_id)
    if row.scope_id != place.workspace.id:
        place.require_admin()
    version = request.POST.get("version", "")
    try:
        delete_topic(
            place.workspace,
            scope_id=row.scope_id,
            name=row.name,
            writer=Writer(origin=TextMemoryVersion.Origin.PERSON),
            expected_version=int(version) if version.isascii() and version.isdigit() else None,
        )
    except HolamemError as error:
        refused(request, error)
        return redirect(place.address("dashboard_text_memory", memory_id))
    told(request, _("The topic is deleted, and its line in the index with it."), audit_id=None)
    return redirect(place.address("dashboard_text_memories") + _user_query(place, row))


def _user_query(place: Place, row: TextMemory) -> str:
    owner = _owner(place, row)
    return f"?{urlencode({'user': owner})}" if owner else ""

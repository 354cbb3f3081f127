"""Tenant, workspace, end users and entities: what must be there before the trees are."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import Conflict
from holamem.text.normalise import normalise_name
from workspaces.models.entities import Entity
from workspaces.models.tenancy import Audit, EndUser, Tenant, Workspace
from workspaces.services.rebuild.found import Problem
from workspaces.services.rebuild.heads import EndUserHead, EntityHead, WorkspaceFile
from workspaces.services.rebuild.rows import insert
from workspaces.services.tenants import validate_settings

STARTED, FINISHED = "rebuild.started", "rebuild.finished"
AUTHOR = "rebuild_from_bodies"


@dataclass(frozen=True, slots=True)
class Target:
    """`archived_at` is what the workspace goes back to when all is there."""

    workspace: Workspace
    archived_at: datetime | None


def open_workspace(file: WorkspaceFile) -> Target:
    """The row to fill, hidden from every caller until the end; a rebuild that stopped goes on.

    An empty workspace of the same name takes the id that the bodies name. Raises Conflict when
    it holds memory that no rebuild put there, or InvalidInput for settings that cannot be.
    """
    head = file.workspace
    settings = validate_settings(head.settings)
    try:
        with system_scope():
            tenant = _tenant(file)
            workspace = _workspace(file, tenant=tenant, settings=settings)
            workspace.tenant = tenant
            _refuse_strangers(workspace)
            _record(workspace, action=STARTED)
    except IntegrityError as error:
        raise Conflict("Another workspace stands in the place of this one.") from error
    return Target(workspace, head.archived_at)


def _tenant(file: WorkspaceFile) -> Tenant:
    """By slug: bodies name no tenant by id."""
    known = Tenant.objects.filter(slug=file.tenant.slug).first()
    if known is not None:
        return known
    tenant = Tenant(
        id=file.tenant.id,
        slug=file.tenant.slug,
        name=file.tenant.name,
        created_at=file.tenant.created_at,
    )
    insert(tenant)
    return tenant


def _workspace(file: WorkspaceFile, *, tenant: Tenant, settings: Mapping[str, object]) -> Workspace:
    head = file.workspace
    known = Workspace.objects.filter(id=head.id).first()
    if known is not None:
        if (known.tenant_id, known.slug) != (tenant.pk, head.slug):
            raise Conflict("The id of this workspace belongs to another one.")
        return known
    namesake = Workspace.objects.filter(tenant=tenant, slug=head.slug).first()
    if namesake is not None:
        _refuse_strangers(namesake)
        Workspace.objects.filter(id=namesake.pk).update(id=head.id)
        return Workspace.objects.get(id=head.id)
    row = Workspace(
        id=head.id,
        tenant=tenant,
        slug=head.slug,
        name=head.name,
        settings=dict(settings),
        created_at=head.created_at,
    )
    insert(row)
    return row


def _refuse_strangers(workspace: Workspace) -> None:
    """Only an empty workspace is filled, or one that an earlier rebuild began to fill."""
    if Audit.objects.filter(workspace=workspace, action=STARTED).exists():
        return
    rows = (
        workspace.trees,
        workspace.events,
        workspace.entities,
        workspace.leaves,
        workspace.end_users,
    )
    if any(manager.exists() for manager in rows):
        raise Conflict("This workspace holds memory already; a rebuild needs an empty one.")


def hide_workspace(target: Target) -> None:
    """Callers see the memory whole or not at all."""
    with system_scope():
        Workspace.objects.filter(id=target.workspace.pk, archived_at=None).update(archived_at=now())


def show_workspace(target: Target, *, file: WorkspaceFile) -> None:
    """Back to what it was, with its name and settings."""
    with system_scope():
        Workspace.objects.filter(id=target.workspace.pk).update(
            archived_at=target.archived_at,
            name=file.workspace.name,
            settings=validate_settings(file.workspace.settings),
        )
        _record(target.workspace, action=FINISHED)


def _record(workspace: Workspace, *, action: str) -> None:
    Audit.objects.create(
        tenant_id=workspace.tenant_id, workspace=workspace, actor=AUTHOR, action=action
    )


def write_end_users(workspace: Workspace, *, heads: Iterable[EndUserHead]) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        known = set(workspace.end_users.values_list("id", flat=True))
        for head in {head.id: head for head in heads}.values():
            if head.id not in known:
                insert(_end_user(workspace, head=head))


def _end_user(workspace: Workspace, *, head: EndUserHead) -> EndUser:
    return EndUser(
        id=head.id,
        workspace=workspace,
        ref=head.ref,
        slug=head.slug,
        name=head.name,
        created_at=head.created_at,
        erased_at=head.erased_at,
    )


def write_entities(
    workspace: Workspace, *, heads: Sequence[tuple[UUID, EntityHead]], problems: list[Problem]
) -> dict[UUID, UUID]:
    """Pairs of scope and entity, in one transaction.

    Returns all ids that are there, each with the one that it is part of now, or itself.
    """
    named = {head.id for _, head in heads}
    with workspace_scope(workspace, ALL_SCOPES):
        for scope_id, head in heads:
            try:
                with workspace_scope(workspace, ALL_SCOPES):  # a savepoint of its own
                    _insert_entity(workspace, scope_id=scope_id, head=head, named=named)
            except IntegrityError:
                problems.append(Problem(f"entity:{head.id}", "another entity has its name"))
        _free_those_whose_target_is_lost(workspace, heads=[head for _, head in heads])
        return {
            entity_id: merged_into or entity_id
            for entity_id, merged_into in workspace.entities.values_list("id", "merged_into")
        }


def _free_those_whose_target_is_lost(workspace: Workspace, *, heads: Sequence[EntityHead]) -> None:
    known = set(workspace.entities.values_list("id", flat=True))
    for head in heads:
        if head.merged_into is not None and head.merged_into not in known:
            names = [] if head.is_system else _compared(head)
            rows = workspace.entities.filter(id=head.id)
            rows.update(merged_into=None, normalised_names=names)


def _insert_entity(
    workspace: Workspace, *, scope_id: UUID, head: EntityHead, named: Collection[UUID]
) -> None:
    """What it was merged into may come later: keys are checked when all are there."""
    if workspace.entities.filter(id=head.id).exists():
        return
    row = _entity(workspace, scope_id=scope_id, head=head)
    row.merged_into_id = head.merged_into if head.merged_into in named else None
    insert(row)


def _entity(workspace: Workspace, *, scope_id: UUID, head: EntityHead) -> Entity:
    """A merged one has no name left, and the fallback bucket is never found by its own."""
    nameless = head.is_system or head.merged_into is not None
    names = _compared(head)
    return Entity(
        id=head.id,
        workspace=workspace,
        scope_id=scope_id,
        type=head.type,
        slug=head.slug,
        name=head.name,
        normalised_name=names[0],
        aliases=list(head.aliases),
        normalised_names=[] if nameless else names,
        description=head.description,
        is_system=head.is_system,
        created_at=head.created_at,
    )


def _compared(head: EntityHead) -> list[str]:
    return list(dict.fromkeys(normalise_name(name) for name in (head.name, *head.aliases)))

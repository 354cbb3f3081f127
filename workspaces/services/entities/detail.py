"""One entity as programs read it, merged ones too."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from holamem.database.scope import workspace_scope
from workspaces import access
from workspaces.models.entities import Entity
from workspaces.models.merges import EntityMerge
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.tree_view import owner_names

Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class MergeProgress:
    """`leaves_total` as counted at the start; leaves that came meanwhile are done as well."""

    into: str
    state: str
    leaves_done: int
    leaves_total: int
    audit_id: UUID


@dataclass(frozen=True, slots=True)
class EntityDetail:
    """`mentions` counts active leaves of other trees that speak of it as well.

    `merged_into` and `merged_from` are slugs; `merge` is its latest merge into another one.
    """

    id: UUID
    slug: str
    name: str
    type: str
    aliases: list[str]
    description: str
    is_system: bool
    user_id: str | None
    created_at: datetime
    tree_id: UUID | None
    tree_key: str | None
    leaf_count: int
    superseded_count: int
    mentions: int
    merged_into: str | None
    merged_from: list[str]
    merge: MergeProgress | None


def entity_detail(workspace: Workspace, *, scopes: Scopes, slug: str) -> EntityDetail:
    """Raises NotFound."""
    entity = access.get_entity(workspace, scopes=scopes, slug=slug)
    with workspace_scope(workspace, scopes):
        tree = workspace.trees.filter(entity=entity).first()
        leaves = workspace.leaves.filter(entity=entity)
        links = workspace.leaf_entities.filter(entity=entity)
        merged_from = workspace.entities.filter(merged_into=entity).order_by("slug")
        return EntityDetail(
            id=entity.id,
            slug=entity.slug,
            name=entity.name,
            type=entity.type,
            aliases=list(entity.aliases),
            description=entity.description,
            is_system=entity.is_system,
            user_id=owner_names(workspace, scope_ids=[entity.scope_id]).get(entity.scope_id),
            created_at=entity.created_at,
            tree_id=tree.id if tree else None,
            tree_key=tree.key if tree else None,
            leaf_count=tree.leaf_count if tree else 0,
            superseded_count=leaves.filter(status=SourceLeaf.Status.SUPERSEDED).count(),
            mentions=links.filter(leaf__status=SourceLeaf.Status.ACTIVE).count(),
            merged_into=entity.merged_into.slug if entity.merged_into else None,
            merged_from=list(merged_from.values_list("slug", flat=True)),
            merge=_latest_merge(workspace, entity=entity),
        )


def _latest_merge(workspace: Workspace, *, entity: Entity) -> MergeProgress | None:
    rows = workspace.merges.select_related("target").filter(source=entity)
    merge: EntityMerge | None = rows.order_by("-id").first()
    if merge is None:
        return None
    return MergeProgress(
        into=merge.target.slug,
        state=merge.state,
        leaves_done=merge.leaves_done,
        leaves_total=merge.leaves_total,
        audit_id=merge.audit_id,
    )

"""A tree without its sidecar: what its leaves alone tell, when an operator asks for that.

Nothing is known about what was forgotten or erased since, and no summary is trusted.
"""

from datetime import UTC, datetime
from uuid import UUID

from workspaces.models.log import Category
from workspaces.services.owner_reads import FALLBACK_SLUG
from workspaces.services.rebuild.found import FoundTree
from workspaces.services.rebuild.heads import EntityHead, LeafHead, Sidecar, TreeHead

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
PREFIX = "interaction:"


def derived_sidecar(found: FoundTree, *, workspace_id: UUID) -> Sidecar | None:
    """None without a leaf, for a mixture of trees, and for an end user that nothing names."""
    heads = [leaf.head for leaf in found.leaves.values()]
    owners = {(head.tree_id, head.tree, head.category, head.scope) for head in heads}
    if len(owners) != 1 or heads[0].scope != workspace_id:
        return None
    first = heads[0]
    entity = _entity(first)
    event = first.event
    is_integration = first.category == Category.INTEGRATION
    if is_integration is (entity is not None) or (is_integration and event is None):
        return None
    return Sidecar(
        format=1,
        workspace=workspace_id,
        written_at=LONG_AGO,
        tree=TreeHead(
            id=first.tree_id,
            key=first.tree,
            title=entity.name if entity else first.tree[:200],
            category=first.category,
            scope=first.scope,
            provider=event.provider if event and is_integration else "",
            account=event.account if event and is_integration else "",
            root=None,
            created_at=min(head.created_at for head in heads),
        ),
        entity=entity,
        end_user=None,
        leaves=[],
        tops=[],
        returned=[],
        buffer=[],
    )


def _entity(head: LeafHead) -> EntityHead | None:
    if head.entity is None or not head.tree.startswith(PREFIX):
        return None
    slug = head.tree.removeprefix(PREFIX)
    return EntityHead(
        id=head.entity.id,
        type=head.entity.type,
        slug=slug,
        name=head.entity.name,
        aliases=[],
        description="",
        is_system=slug == FALLBACK_SLUG,
        merged_into=None,
        created_at=head.created_at,
    )

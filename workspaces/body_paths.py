"""Where a body lies: derived from tenant, workspace, scope, tree and node id, never chosen."""

from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.text.slugs import slugify
from workspaces.models.log import Category
from workspaces.models.tenancy import EndUser, Workspace
from workspaces.models.trees import Tree


def tree_directory(workspace: Workspace, *, tree: Tree, user_slug: str | None) -> str:
    """`user_slug` names the end user's folder; None is the shared scope."""
    base = f"{workspace.tenant.slug}/{workspace.slug}/memory"
    if user_slug is not None:
        base = f"{base}/users/{user_slug}"
    if tree.category == Category.INTERACTION:
        return f"{base}/interaction/{tree.key.removeprefix('interaction:')}"
    # Accounts are free text and may slug alike; a short digest of the tree keeps folders apart.
    return f"{base}/integration/{slugify(tree.provider)}~{slugify(tree.account)}-{tree.id.hex[-6:]}"


def scope_directory(workspace: Workspace, *, tree: Tree) -> str:
    """The tree's folder, with the end user's slug looked up for a private tree."""
    if tree.scope_id == workspace.id:
        return tree_directory(workspace, tree=tree, user_slug=None)
    with workspace_scope(workspace, [tree.scope_id]):
        slug = EndUser.objects.get(workspace=workspace, id=tree.scope_id).slug
    return tree_directory(workspace, tree=tree, user_slug=slug)


def leaf_path(directory: str, *, leaf_id: UUID) -> str:
    return f"{directory}/leaves/{leaf_id}.md"


def summary_path(directory: str, *, level: int, summary_id: UUID) -> str:
    return f"{directory}/summaries/L{level}/{summary_id}.md"


def retired_path(directory: str, *, summary_id: UUID) -> str:
    return f"{directory}/summaries/retired/{summary_id}.md"

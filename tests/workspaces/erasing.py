"""Memories with a word that must vanish, and erasing them as a worker does."""

from uuid import UUID

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, principal_of, remember
from workspaces.models.erasure import Erasure
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.erasure.receipts import Receipt, receipt
from workspaces.services.erasure.request import erase_leaf
from workspaces.services.results import EventResult
from workspaces.services.tenants import create_workspace

SEAL_THRESHOLD = 2  # eight leaves have three levels above them


def workspace_of(tenant: Tenant, slug: str = "erasing") -> Workspace:
    return create_workspace(
        tenant, slug=slug, name=slug, settings={"seal_threshold": SEAL_THRESHOLD}
    )


def english(word: str) -> str:
    return f"The Atlas gateway is looked after by {word} at night."


def chinese(word: str) -> str:
    return f"Atlas gateway 网关的夜班由{word}负责，电话另行通知。"


def sealed_memory(workspace: Workspace, text: str, **values: object) -> UUID:
    """Eight leaves of one tree, one of which says this, under three levels of summaries."""
    facts = [draft(fact, minutes=number * 2) for number, fact in enumerate(ATLAS_FACTS[:7])]
    results = remember(workspace, *facts, draft(text, minutes=5, **values))
    assert tree_height(workspace, leaf_of(results[-1])) == 3
    return leaf_of(results[-1])


def tree_height(workspace: Workspace, leaf_id: UUID) -> int:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.trees.get(leaves__id=leaf_id).height


def leaf_of(result: EventResult) -> UUID:
    leaf_id = result.chunks[0].leaf_id
    assert leaf_id is not None
    return leaf_id


def erase(workspace: Workspace, leaf_id: UUID, *, only_this: bool = False) -> Receipt:
    """The request alone; `erased` also runs the job."""
    return erase_leaf(
        workspace,
        principal=principal_of(workspace),
        scopes=ALL_SCOPES,
        leaf_id=leaf_id,
        reason="asked for by the person",
        only_this=only_this,
    )


def erased(workspace: Workspace, leaf_id: UUID, *, only_this: bool = False) -> Receipt:
    asked = erase(workspace, leaf_id, only_this=only_this)
    drain(workspace)
    done = receipt(workspace, scopes=ALL_SCOPES, erasure_id=asked.erasure_id)
    assert done.status == Erasure.Status.COMPLETE
    return done


def statuses(workspace: Workspace, *leaf_ids: UUID) -> list[str]:
    with workspace_scope(workspace, ALL_SCOPES):
        found = dict(workspace.leaves.filter(id__in=leaf_ids).values_list("id", "status"))
    return [found[leaf_id] for leaf_id in leaf_ids]


def leaf_row(workspace: Workspace, leaf_id: UUID) -> SourceLeaf:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.leaves.select_related("tree", "entity").get(id=leaf_id)


def payload_of(workspace: Workspace, event_id: UUID) -> str:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.events.get(id=event_id).payload_text

"""Changing memory by hand in tests, and everything that can be read of it afterwards."""

import json
from uuid import UUID

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import HolamemError
from retrieval.browse import browse
from retrieval.definitions import BrowseRequest, RetrieveRequest
from retrieval.retrieve import retrieve
from tests.workspaces.memory import draft, principal_of, remember
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.corrections.changes import Changed, Corrected, Moved
from workspaces.services.corrections.correct import correct_leaf
from workspaces.services.corrections.forget import forget_leaf, restore_leaf
from workspaces.services.corrections.move import move_leaf
from workspaces.services.corrections.undo import undo_change
from workspaces.services.node_view import node_view
from workspaces.services.placement import NewEntityPlan

CHINESE_FACTS = (
    "支付网关监听八四四三端口。",
    "支付网关的访问日志存放在青龙机房。",
    "支付网关的错误码以PAY开头。",
    "支付网关每天凌晨两点备份配置。",
    "支付网关拒绝没有租户标头的请求。",
    "支付网关的限流数据存放在Redis。",
    "支付网关去年冬天用Go重写。",
    "支付网关的灰度发布占一成流量。",
)


def remember_all(workspace: Workspace, *texts: str) -> list[UUID]:
    """One leaf a text, a minute apart; their ids in order."""
    results = remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(texts)])
    return [leaf_id for result in results for leaf_id in [result.chunks[0].leaf_id] if leaf_id]


def correct(workspace: Workspace, leaf_id: UUID, text: str) -> Corrected:
    return correct_leaf(
        workspace,
        principal=principal_of(workspace),
        scopes=ALL_SCOPES,
        leaf_id=leaf_id,
        text=text,
    )


def forget(workspace: Workspace, leaf_id: UUID) -> Changed:
    return forget_leaf(
        workspace, principal=principal_of(workspace), scopes=ALL_SCOPES, leaf_id=leaf_id
    )


def restore(workspace: Workspace, leaf_id: UUID) -> Changed:
    return restore_leaf(
        workspace, principal=principal_of(workspace), scopes=ALL_SCOPES, leaf_id=leaf_id
    )


def move(
    workspace: Workspace,
    leaf_id: UUID,
    *,
    to: str | None = None,
    new: NewEntityPlan | None = None,
) -> Moved:
    return move_leaf(
        workspace,
        principal=principal_of(workspace),
        scopes=ALL_SCOPES,
        leaf_id=leaf_id,
        entity_slug=to,
        new_entity=new,
    )


def undo(workspace: Workspace, audit_id: UUID) -> Changed:
    return undo_change(
        workspace, principal=principal_of(workspace), scopes=ALL_SCOPES, audit_id=audit_id
    )


def leaf_row(workspace: Workspace, leaf_id: UUID) -> SourceLeaf:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.leaves.select_related("tree", "entity").get(id=leaf_id)


def active_in(workspace: Workspace, tree_id: UUID) -> list[SourceLeaf]:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.leaves.filter(tree=tree_id, status="active")
        return list(rows.order_by("observed_at", "id"))


def everything_read(workspace: Workspace, *, question: str) -> str:
    """All that the reading side and the node pages say: retrieval, browsing, every node by id."""
    with workspace_scope(workspace, ALL_SCOPES):
        ids = [
            *workspace.leaves.values_list("id", flat=True),
            *workspace.summaries.values_list("id", flat=True),
            *workspace.trees.values_list("id", flat=True),
        ]
    request = RetrieveRequest(query=question, reasoning="off")
    answers = [retrieve(workspace, scopes=ALL_SCOPES, request=request).as_dict()]
    answers += [_browsed(workspace, node_id=node_id) for node_id in ids]
    pages = [_page(workspace, node_id=node_id) for node_id in ids]
    del answers[0]["query"]  # the question itself is the caller's
    return json.dumps(answers, default=str, ensure_ascii=False) + "\n".join(pages)


def _browsed(workspace: Workspace, *, node_id: UUID) -> dict[str, object]:
    try:
        request = BrowseRequest(node_id=node_id, depth=3)
        return browse(workspace, scopes=ALL_SCOPES, request=request).as_dict()
    except HolamemError:
        return {}


def _page(workspace: Workspace, *, node_id: UUID) -> str:
    try:
        return repr(node_view(workspace, scopes=ALL_SCOPES, node_id=node_id))
    except HolamemError:
        return ""

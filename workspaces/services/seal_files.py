"""The files of steps of sealing: summaries that a judge writes, and copies of what moves."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from django.db import IntegrityError

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from workspaces.bodies import (
    BodyMissing,
    copy_bodies,
    delete_bodies,
    read_bytes,
    save_bodies,
    written_body,
)
from workspaces.body_paths import retired_path, scope_directory, summary_path
from workspaces.judging.base import Judge, SummaryDraft
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SummaryNode
from workspaces.services.jobs import LeaseLost
from workspaces.services.policies import lowest_trust
from workspaces.services.seal_plan import LIVE, Step
from workspaces.services.seal_rows import Move
from workspaces.services.summaries import build_node, draft_summary, summary_body


class PlanChanged(RuntimeError):
    """The tree changed between plan and commit; plan again."""


@dataclass(frozen=True, slots=True)
class Written:
    """A step whose files are on disk; `height` is that of the tree after it.

    Without a `node` the step writes none. `retired_to` is empty where no node goes.
    """

    step: Step
    height: int
    node: SummaryNode | None
    draft: SummaryDraft | None
    moves: Sequence[Move]
    retired_to: str


def write_files(workspace: Workspace, *, steps: Sequence[Step], judge: Judge) -> list[Written]:
    """In their order; all files are on disk when this returns. Raises what a judge raises."""
    written, files = [], {}
    for step in steps:
        directory = scope_directory(workspace, tree=step.tree)
        height = _height_after(step)
        node, draft = None, None
        if step.kind in ("seal", "replace", "root"):
            draft = draft_summary(step, judge=judge)
            faults.point("seal.after_draft")
            node = _new_node(workspace, step=step, directory=directory, height=height)
            build_node(step, draft=draft, node=node, model=judge.name)
            data = summary_body(node, tree=step.tree, body=draft.body)
            body = written_body(node.body_path, data)
            node.body_sha256, node.body_bytes = body.sha256, body.size
            files[node.body_path] = data
        moves = _copy_moves(workspace, step=step, directory=directory, height=height)
        retired_to = retired_path(directory, summary_id=step.old.id) if step.old else ""
        if step.old is not None and not step.old.withheld:
            with suppress(BodyMissing):  # what is gone needs no copy, and must not stop the rest
                files[retired_to] = read_bytes(step.old.body_path)
        written.append(Written(step, height, node, draft, moves, retired_to))
    save_bodies(files)
    for one in written:
        if one.node is not None:
            faults.point("seal.after_file")
    return written


@contextmanager
def removed_on_refusal(nodes: Sequence[SummaryNode | None]) -> Iterator[None]:
    """Bodies that will have no row go at once: what they say may be erased meanwhile."""
    try:
        yield
    except (PlanChanged, LeaseLost, IntegrityError):
        delete_bodies([node.body_path for node in nodes if node is not None])
        raise


def _height_after(step: Step) -> int:
    """The tree's height is its root's; a step that sets no root leaves it as it is."""
    if (step.becomes_root and step.kind != "retire") or step.kind == "promote":
        return step.height
    if step.kind == "retire" and step.old is not None and step.old.is_root:
        return 0
    return step.tree.height


def _new_node(workspace: Workspace, *, step: Step, directory: str, height: int) -> SummaryNode:
    node_id = new_id()
    level = max(1, height - step.height + 1)
    is_replacement = step.kind == "replace" and step.old is not None
    return SummaryNode(
        id=node_id,
        workspace=workspace,
        scope_id=step.tree.scope_id,
        category=step.tree.category,
        tree_id=step.tree.id,
        parent_id=step.old.parent_id if is_replacement and step.old else None,
        replaces_id=step.old.id if step.old else None,
        height=step.height,
        level=level,
        is_root=step.becomes_root,
        provisional=step.kind == "root",
        body_path=summary_path(directory, level=level, summary_id=node_id),
        trust=lowest_trust(child.trust for child in step.children),
        sealed_at=now(),
    )


def _copy_moves(workspace: Workspace, *, step: Step, directory: str, height: int) -> list[Move]:
    """When the height changes, every live summary changes its level: copies come first."""
    if height == step.tree.height:
        return []
    with workspace_scope(workspace, [step.tree.scope_id]):
        rows = workspace.summaries.filter(tree=step.tree, status__in=LIVE)
        if step.old is not None:
            rows = rows.exclude(id=step.old.id)
        live = list(rows)
    moves, copies = [], {}
    for node in live:
        level = max(1, height - node.height + 1)
        path = summary_path(directory, level=level, summary_id=node.id)
        if path != node.body_path:
            moves.append(Move(node.id, level, node.body_path, path))
            if not node.withheld:  # nobody reads it, and an erasure removes its file
                copies[path] = node.body_path
    copy_bodies(copies)
    return moves

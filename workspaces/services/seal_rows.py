"""What a step of sealing changes in the database, as statements for one message."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from holamem.clock import now
from holamem.database.rows import insert_statement
from holamem.database.statements import Statement
from workspaces.index.entries import summary_lexemes_statement
from workspaces.judging.base import SummaryDraft
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import RetiredBody, SourceLeaf, SummaryNode
from workspaces.services.seal_plan import Step
from workspaces.services.summaries import without_citations
from workspaces.services.topology import mirror_due

RETIRED_HOURS = 24  # an answer that is being built may still hold the old path


@dataclass(frozen=True, slots=True)
class Move:
    """One file whose level changes because the tree grew or shrank."""

    node_id: UUID
    level: int
    old_path: str
    new_path: str


def swap_statements(
    workspace: Workspace, *, step: Step, node: SummaryNode | None, draft: SummaryDraft | None
) -> list[Statement]:
    """Root flag, node and parents; the old root gives its flag up before another takes it."""
    statements: list[Statement] = []
    if step.becomes_root or step.kind == "promote" or (step.old is not None and step.old.is_root):
        statements.append(_no_root(workspace, step=step))
    if node is not None and draft is not None:
        statements += _new_node(workspace, step=step, node=node, draft=draft)
    elif step.kind == "promote":
        statements += _promoted(workspace, step=step)
    elif step.old is not None and step.old.is_root:
        statements.append(_root(workspace, step=step, node_id=None))
    return statements


def _no_root(workspace: Workspace, *, step: Step) -> Statement:
    return Statement(
        "UPDATE workspaces_summarynode SET is_root = false"
        " WHERE workspace_id = %s AND tree_id = %s AND is_root",
        [workspace.pk, step.tree.id],
    )


def _root(workspace: Workspace, *, step: Step, node_id: UUID | None) -> Statement:
    return Statement(
        "UPDATE workspaces_tree SET root_id = %s WHERE workspace_id = %s AND id = %s",
        [node_id, workspace.pk, step.tree.id],
    )


def _new_node(
    workspace: Workspace, *, step: Step, node: SummaryNode, draft: SummaryDraft
) -> list[Statement]:
    table = "sourceleaf" if isinstance(step.children[0], SourceLeaf) else "summarynode"
    adopted = Statement(
        f"UPDATE workspaces_{table} SET parent_id = %s"  # noqa: S608 - one of two names
        " WHERE workspace_id = %s AND id = ANY(%s::uuid[])",
        [node.id, workspace.pk, [child.id for child in step.children]],
    )
    statements = [
        insert_statement([node]),
        adopted,
        summary_lexemes_statement(workspace, node=node, text=without_citations(draft.body)),
    ]
    if step.becomes_root:
        return [*statements, _root(workspace, step=step, node_id=node.id)]
    return statements + (_outdated(workspace, step=step) if step.kind == "seal" else [])


def _promoted(workspace: Workspace, *, step: Step) -> list[Statement]:
    top = step.children[0]
    promoted = Statement(
        "UPDATE workspaces_summarynode SET is_root = true, parent_id = NULL"
        " WHERE workspace_id = %s AND id = %s",
        [workspace.pk, top.id],
    )
    return [promoted, _root(workspace, step=step, node_id=top.id)]


_PROVISIONAL_ROOT = """
SELECT id FROM workspaces_summarynode
 WHERE workspace_id = %s AND tree_id = %s AND is_root AND provisional AND status IN ('sealed', 'stale')
"""


def _outdated(workspace: Workspace, *, step: Step) -> list[Statement]:
    """A provisional root does not cover the new top node; it stays the root until the next one."""
    of_tree = [workspace.pk, workspace.pk, step.tree.id]
    return [
        Statement(
            f"UPDATE {table} SET status = 'stale'"  # noqa: S608 - names and a constant
            f" WHERE workspace_id = %s AND {column} IN ({_PROVISIONAL_ROOT})",
            of_tree,
        )
        for table, column in (
            ("workspaces_summarynode", "id"),
            ("workspaces_vectorentry", "node_id"),
            ("workspaces_lexemeentry", "node_id"),
        )
    ]


def move_statements(workspace: Workspace, *, step: Step, moves: Sequence[Move]) -> list[Statement]:
    if not moves:
        return []
    moved = Statement(
        "UPDATE workspaces_summarynode AS node SET level = moved.level, body_path = moved.path"
        "  FROM unnest(%s::uuid[], %s::int[], %s::text[]) AS moved (id, level, path)"
        " WHERE node.workspace_id = %s AND node.id = moved.id",
        [
            [move.node_id for move in moves],
            [move.level for move in moves],
            [move.new_path for move in moves],
            workspace.pk,
        ],
    )
    old_paths = [move.old_path for move in moves]
    return [moved, _given_up(workspace, scope_id=step.tree.scope_id, paths=old_paths)]


def retire_statements(workspace: Workspace, *, step: Step, path: str) -> list[Statement]:
    """The old node with its search entries; its file is kept for a while under `path`."""
    old = step.old
    if old is None:
        return []
    of_node = [workspace.pk, old.id]
    return [
        Statement(
            "UPDATE workspaces_summarynode SET status = 'retired', is_root = false,"
            " parent_id = NULL, body_path = %s, retired_at = %s WHERE workspace_id = %s AND id = %s",
            [path, now(), *of_node],
        ),
        *(
            Statement(f"DELETE FROM {table} WHERE workspace_id = %s AND node_id = %s", of_node)  # noqa: S608 - names
            for table in ("workspaces_vectorentry", "workspaces_lexemeentry")
        ),
        _given_up(workspace, scope_id=old.scope_id, paths=[old.body_path, path]),
    ]


def _given_up(workspace: Workspace, *, scope_id: UUID, paths: Sequence[str]) -> Statement:
    expires_at = now() + timedelta(hours=RETIRED_HOURS)
    rows = [
        RetiredBody(workspace=workspace, scope_id=scope_id, path=path, expires_at=expires_at)
        for path in paths
    ]
    return insert_statement(rows)


def height_statement(workspace: Workspace, *, step: Step, height: int) -> Statement:
    """With the mark that the sidecar is behind: a pass that dies before it writes it is followed
    by one that finds nothing to seal.
    """
    return Statement(
        "UPDATE workspaces_tree SET height = %s, updated_at = %s, mirrored_state = %s"
        " WHERE workspace_id = %s AND id = %s",
        [height, now(), mirror_due(), workspace.pk, step.tree.id],
    )

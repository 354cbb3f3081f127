"""For what changed: the leaves whose place the chosen ones took."""

from collections.abc import Sequence
from uuid import UUID

from retrieval.stages.hydrate import load_rows
from retrieval.types import NodeRow, Ranked, Scopes
from workspaces.models.tenancy import Workspace

Chosen = tuple[list[Ranked], dict[UUID, NodeRow]]


def with_predecessors(
    workspace: Workspace,
    *,
    scopes: Scopes,
    ranked: Sequence[Ranked],
    rows: dict[UUID, NodeRow],
    limit: int,
) -> Chosen:
    """Behind each chosen leaf the one that it superseded; the last of too many fall off.

    One more statement, and only where some leaf took the place of another. `rows` are those of
    the chosen; a predecessor that may not be read is left out.
    """
    wanted = [row.supersedes for row in rows.values() if row.supersedes not in (None, *rows)]
    missing = [_predecessor(node_id) for node_id in wanted if node_id is not None]
    older = load_rows(workspace, scopes=scopes, chosen=missing) if missing else {}
    if not older:
        return list(ranked), rows
    kept: list[Ranked] = []
    for item in ranked:
        if item.dropped:
            continue
        before = rows[item.node_id].supersedes if item.node_id in rows else None
        kept.append(item)
        if before in older:
            kept.append(_predecessor(before))
    shown = kept[:limit]
    all_rows = {**rows, **older}
    dropped = [item for item in ranked if item.dropped]
    return [*shown, *dropped], {
        i.node_id: all_rows[i.node_id] for i in shown if i.node_id in all_rows
    }


def _predecessor(node_id: UUID) -> Ranked:
    return Ranked(node_id, "leaf", 0.0, (), (), ("superseded_by",))

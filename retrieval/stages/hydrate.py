"""Stage 7: the rows of the chosen nodes in one statement, then their bodies from disk.

Raw SQL: leaves and summaries with their sources, entities and conflicts in one round trip.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from holamem.database.one_trip import fetch_last_dicts
from holamem.database.scope import workspace_scope
from holamem.errors import HolamemError
from retrieval.stages.hydrate_sql import STATEMENT
from retrieval.types import Anchor, NodeRow, Ranked, Scopes, Source
from workspaces.bodies import read_markdown
from workspaces.index.search import scope_list
from workspaces.models.tenancy import Workspace

logger = logging.getLogger(__name__)

FRESH_DAYS = 7
RECENT_DAYS = 30


def load_rows(
    workspace: Workspace, *, scopes: Scopes, chosen: Sequence[Ranked]
) -> dict[UUID, NodeRow]:
    """One statement, the last of its step. A node that is gone meanwhile, or may not be read any more, is absent."""
    if not chosen:
        return {}
    scope = "" if isinstance(scopes, str) else "AND {0}.scope_id = ANY(%(scopes)s::uuid[])"
    statement = STATEMENT.replace("{leaf_scope}", scope.format("l"))
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scopes": scope_list(workspace, scopes),
        "nodes": [item.node_id for item in chosen],
    }
    with workspace_scope(workspace, scopes):
        rows = fetch_last_dicts(statement.replace("{summary_scope}", scope.format("s")), values)
    return {row["node_id"]: _row(row) for row in rows}


def _row(row: dict[str, Any]) -> NodeRow:
    sources = tuple(
        Source(UUID(item["event_id"]), datetime.fromisoformat(item["at"]), item["metadata"])
        for item in row.pop("sources") or ()
    )
    entities = tuple((UUID(item["id"]), item["name"]) for item in row.pop("entities") or ())
    return NodeRow(
        **{
            **row,
            "labels": tuple(row["labels"]),
            "metadata": row["metadata"] or {},
            "conflicts": tuple(row["conflicts"] or ()),
            "sources": sources,
            "entities": entities,
        }
    )


def read_bodies(rows: Sequence[NodeRow]) -> tuple[dict[UUID, str], bool]:
    """Markdown by node, read outside any transaction; True when one could not be read."""
    bodies: dict[UUID, str] = {}
    for row in rows:
        try:
            bodies[row.node_id] = read_markdown(row.body_path, sha256=row.body_sha256)
        except (HolamemError, OSError):
            # `verify` reports and repairs it; the answer is built from what can be read.
            logger.warning("retrieval.body_unreadable", extra={"node_id": str(row.node_id)})
    return bodies, len(bodies) < len(rows)


def is_stale(row: NodeRow, *, anchor: Anchor) -> bool:
    """A summary whose children changed; a leaf that decays and is past its days."""
    if row.kind == "summary":
        return row.status == "stale"
    if row.staleness_policy != "decays" or row.stale_after_days is None:
        return False
    return anchor.now > row.end + timedelta(days=row.stale_after_days)


def freshness_of(row: NodeRow, *, anchor: Anchor) -> str:
    """superseded | stale | fresh (a week) | recent (a month) | older."""
    if row.status == "superseded":
        return "superseded"
    if is_stale(row, anchor=anchor):
        return "stale"
    age = anchor.now - row.end
    if age <= timedelta(days=FRESH_DAYS):
        return "fresh"
    return "recent" if age <= timedelta(days=RECENT_DAYS) else "older"

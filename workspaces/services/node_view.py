"""One leaf or summary with everything that a person needs to trust it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.errors import HolamemError, NotFound
from workspaces.bodies import read_markdown
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LIVE_SUMMARIES, SourceLeaf, SummaryNode, Tree, is_withheld
from workspaces.services.tree_view import (
    BranchNode,
    leaf_node,
    owner_names,
    parents_of,
    summary_node,
)

MAX_CHILDREN = 200
MAX_HISTORY = 50
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class EventLine:
    id: UUID
    kind: str
    actor: str
    source: str
    session_ref: str
    occurred_at: datetime | None
    received_at: datetime
    is_creator: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a chunk became what it is; confidences are 0..1 or None where not asked."""

    position: int
    start: int
    end: int
    outcome: str
    decision: str
    reason: str
    admission: float | None
    match: float | None
    create: float | None
    judged_by: str


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a subject; `text` is empty where it is gone or was not read."""

    node: BranchNode
    valid_until: datetime | None


@dataclass(frozen=True, slots=True)
class EntityLine:
    id: UUID
    name: str
    type: str
    is_primary: bool


@dataclass(frozen=True, slots=True)
class NodeView:
    """`body` is None when it may not be read; `body_problem` says why.

    `parents` start at the root; `citing` are the summaries that name this node; `history` is
    newest first and includes the leaf itself.
    """

    node: BranchNode
    tree_id: UUID
    tree_key: str
    tree_title: str
    category: str
    owner: str | None
    summary: str
    body: str | None
    body_problem: str
    previous_body: str | None
    facts: dict[str, object]
    hashes: dict[str, str]
    labels: list[str]
    parents: list[BranchNode]
    children: list[BranchNode]
    citing: list[BranchNode]
    events: list[EventLine]
    decision: Decision | None
    history: list[Version]
    entities: list[EntityLine]


@dataclass(frozen=True, slots=True)
class _Body:
    path: str
    sha256: str


def node_view(workspace: Workspace, *, scopes: Scopes, node_id: UUID) -> NodeView:
    """Raises NotFound. Files are read after the database step has ended."""
    with workspace_scope(workspace, scopes):
        leaf = (
            workspace.leaves.select_related("tree", "entity", "chunk", "supersedes_leaf")
            .filter(id=node_id)
            .first()
        )
        is_forgotten = leaf is not None and leaf.forgotten_at is not None
        if leaf is not None:
            parts = _leaf_parts(workspace, leaf)
        else:
            summary = workspace.summaries.select_related("tree").filter(id=node_id).first()
            if summary is None:
                raise NotFound("There is no such node.")
            parts = _summary_parts(workspace, summary)
    body, previous = parts.pop("body_file"), parts.pop("previous_file")
    text, problem = _read(body)
    problem = "forgotten" if is_forgotten else problem
    return NodeView(body=text, body_problem=problem, previous_body=_read(previous)[0], **parts)


def _read(body: _Body | None) -> tuple[str | None, str]:
    if body is None:
        return None, "withheld"
    try:
        return read_markdown(body.path, sha256=body.sha256), ""
    except HolamemError as error:
        return None, error.code


def _common(workspace: Workspace, tree: Tree) -> dict[str, Any]:
    return {
        "tree_id": tree.id,
        "tree_key": tree.key,
        "tree_title": tree.title,
        "category": tree.category,
        "owner": owner_names(workspace, scope_ids=[tree.scope_id]).get(tree.scope_id),
    }


def _leaf_parts(workspace: Workspace, leaf: SourceLeaf) -> dict[str, Any]:
    gone = is_withheld(leaf)
    previous = leaf.supersedes_leaf
    return {
        **_common(workspace, leaf.tree),
        "node": leaf_node(leaf),
        "summary": "" if gone else leaf.summary,
        "body_file": None if gone else _Body(leaf.body_path, leaf.body_sha256),
        "previous_file": _previous_body(previous) if not gone else None,
        "facts": {
            "observed_at": leaf.observed_at,
            "created_at": leaf.created_at,
            "valid_until": leaf.valid_until,
            "confidence": leaf.confidence,
            "verification_policy": leaf.verification_policy,
            "staleness_policy": leaf.staleness_policy,
            "stale_after_days": leaf.stale_after_days,
            "trust": leaf.trust,
            "language": leaf.language,
            "origin_kind": leaf.origin_kind,
            "actor": leaf.actor,
            "subject_key": "" if gone else leaf.subject_key,
        },
        "hashes": {"body_sha256": leaf.body_sha256, "fingerprint": leaf.fingerprint},
        "labels": [] if gone else list(leaf.labels),
        "parents": parents_of(workspace, node_ids=[leaf.parent_id] if leaf.parent_id else []),
        "children": [],
        "citing": _citing(workspace, leaf),
        "events": _events(leaf),
        "decision": _decision(leaf.chunk) if leaf.chunk else None,
        "history": _history(workspace, leaf),
        "entities": _entities(leaf),
    }


def _previous_body(previous: SourceLeaf | None) -> _Body | None:
    if previous is None or is_withheld(previous):
        return None
    return _Body(previous.body_path, previous.body_sha256)


def _summary_parts(workspace: Workspace, row: SummaryNode) -> dict[str, Any]:
    readable = row.status in LIVE_SUMMARIES and not row.withheld
    return {
        **_common(workspace, row.tree),
        "node": summary_node(row),
        "summary": row.summary if readable else "",
        "body_file": _Body(row.body_path, row.body_sha256) if readable else None,
        "previous_file": None,
        "facts": {
            "level": row.level,
            "height": row.height,
            "leaf_count": row.leaf_count,
            "time_range_start": row.time_range_start,
            "time_range_end": row.time_range_end,
            "sealed_at": row.sealed_at,
            "retired_at": row.retired_at,
            "provisional": row.provisional,
            "trust": row.trust,
            "language": row.language,
            "model": row.model,
        },
        "hashes": {"body_sha256": row.body_sha256, "child_set_sha256": row.child_set_sha256},
        "labels": [] if row.withheld else list(row.labels),
        "parents": parents_of(workspace, node_ids=[row.parent_id] if row.parent_id else []),
        "children": _children(workspace, row),
        "citing": _citing(workspace, row),
        "events": [],
        "decision": None,
        "history": _replaced(workspace, row),
        "entities": [],
    }


def _children(workspace: Workspace, row: SummaryNode) -> list[BranchNode]:
    """What was summarised, in its recorded order, with today's status of each."""
    wanted = row.child_ids[:MAX_CHILDREN]
    if row.child_kind == SummaryNode.ChildKind.LEAF:
        nodes = [leaf_node(leaf) for leaf in workspace.leaves.filter(id__in=wanted)]
    else:
        nodes = [summary_node(child) for child in workspace.summaries.filter(id__in=wanted)]
    return sorted(nodes, key=lambda node: wanted.index(node.id))


def _citing(workspace: Workspace, node: SourceLeaf | SummaryNode) -> list[BranchNode]:
    """Summaries that were made from this node and are still read, the newest first."""
    live = workspace.summaries.filter(tree=node.tree_id, status__in=LIVE_SUMMARIES, withheld=False)
    rows = live.filter(child_ids__contains=[node.id]).order_by("-sealed_at")
    return [summary_node(row) for row in rows[:MAX_HISTORY]]


def _events(leaf: SourceLeaf) -> list[EventLine]:
    links = leaf.sources.select_related("event").order_by("-is_creator", "event__received_at")
    return [_event_line(link.event, link.is_creator) for link in links[:MAX_HISTORY]]


def _event_line(event: Event, is_creator: bool) -> EventLine:
    return EventLine(
        id=event.id,
        kind=event.kind,
        actor=event.actor,
        source=event.source,
        session_ref=event.session_ref,
        occurred_at=event.occurred_at,
        received_at=event.received_at,
        is_creator=is_creator,
    )


def _decision(chunk: Chunk) -> Decision:
    return Decision(
        position=chunk.position,
        start=chunk.start,
        end=chunk.end,
        outcome=chunk.outcome,
        decision=chunk.decision,
        reason=chunk.reason,
        admission=chunk.admission_confidence,
        match=chunk.match_confidence,
        create=chunk.create_confidence,
        judged_by=chunk.judged_by,
    )


def _history(workspace: Workspace, leaf: SourceLeaf) -> list[Version]:
    """All versions of the subject that this leaf is one of, newest first."""
    found = {leaf.id: leaf}
    wanted = {leaf.id}
    # Chains never fork and are short; each round takes the next link in both directions.
    while wanted and len(found) < MAX_HISTORY:
        rows = workspace.leaves.filter(supersedes_leaf__in=wanted) | workspace.leaves.filter(
            superseded_by__in=wanted
        )
        linked = {found[key].supersedes_leaf_id for key in wanted} | {
            found[key].superseded_by_id for key in wanted
        }
        rows = rows | workspace.leaves.filter(id__in=linked - {None})
        fresh = {row.id: row for row in rows.distinct()[:MAX_HISTORY] if row.id not in found}
        found.update(fresh)
        wanted = set(fresh)
    ordered = sorted(found.values(), key=lambda row: (row.observed_at, row.id), reverse=True)
    return [Version(leaf_node(row), row.valid_until) for row in ordered] if len(found) > 1 else []


def _replaced(workspace: Workspace, row: SummaryNode) -> list[Version]:
    near = workspace.summaries.filter(replaces=row.id) | workspace.summaries.filter(
        id=row.replaces_id or row.id
    )
    versions = [
        Version(summary_node(item), item.retired_at) for item in near.order_by("-sealed_at")
    ]
    return versions if len(versions) > 1 else []


def _entities(leaf: SourceLeaf) -> list[EntityLine]:
    primary = (
        [EntityLine(leaf.entity.id, leaf.entity.name, leaf.entity.type, True)]
        if leaf.entity
        else []
    )
    links = leaf.secondary_links.select_related("entity").order_by("entity__name")
    return primary + [
        EntityLine(link.entity.id, link.entity.name, link.entity.type, False) for link in links
    ]

"""What an erasure took, for the person who asked for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from workspaces.models.erasure import Erasure
from workspaces.models.tenancy import Workspace

Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Counts of what goes; `leaf_id` is None for a whole end user.

    `retrievals`, `links` and `entities` are known when it is complete.

    `bodies` are texts on disk, each with its copies; `entries` are rows of the search index;
    `retrievals` are questions and gaps that quoted the text.
    """

    erasure_id: UUID
    kind: str
    leaf_id: UUID | None
    status: str
    only_this: bool
    reason: str
    requested_by: str
    requested_at: datetime
    completed_at: datetime | None
    leaves: int
    summaries: int
    bodies: int
    events: int
    chunks: int
    entries: int
    links: int
    entities: int
    retrievals: int


def receipt_of(erasure: Erasure) -> Receipt:
    counts = erasure.counts
    return Receipt(
        erasure_id=erasure.id,
        kind=erasure.target_kind,
        leaf_id=None if erasure.is_whole_scope else erasure.target_id,
        status=erasure.status,
        only_this=erasure.only_this,
        reason=erasure.reason,
        requested_by=erasure.requested_by,
        requested_at=erasure.requested_at,
        completed_at=erasure.completed_at,
        leaves=counts.get("leaves", 0),
        summaries=counts.get("summaries", 0),
        bodies=counts.get("bodies", 0),
        events=counts.get("events", 0),
        chunks=counts.get("chunks", 0),
        entries=counts.get("entries", 0),
        links=counts.get("links", 0),
        entities=counts.get("entities", 0),
        retrievals=counts.get("retrievals", 0),
    )


def receipt(workspace: Workspace, *, scopes: Scopes, erasure_id: UUID) -> Receipt:
    """Raises NotFound."""
    with workspace_scope(workspace, scopes):
        erasure = workspace.erasures.filter(id=erasure_id).first()
    if erasure is None:
        raise NotFound("There is no such erasure.")
    return receipt_of(erasure)


def receipts_of_leaf(workspace: Workspace, *, scopes: Scopes, leaf_id: UUID) -> list[Receipt]:
    """Oldest first; empty for a leaf that nobody erased."""
    with workspace_scope(workspace, scopes):
        return [receipt_of(row) for row in erasures_of_leaf(workspace, leaf_id=leaf_id)]


def erasures_of_leaf(workspace: Workspace, *, leaf_id: UUID) -> list[Erasure]:
    """Those that were asked for this leaf or took it with another; inside the caller's step."""
    rows = workspace.erasures.filter(Q(target_id=leaf_id) | Q(texts__leaf_id=leaf_id))
    return list(rows.distinct().order_by("requested_at", "id"))

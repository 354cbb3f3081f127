"""Leaves whose words try to steer agents: a person looks at them, and keeps or forgets each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

from django.db import connection

from agents.services.instructions import OVERRIDE_WORDS, overrides_rules
from holamem.database.scope import workspace_scope
from holamem.text.segment import terms_with_positions
from holamem.text.tsvector import to_tsquery_literal
from workspaces.models.tenancy import Audit, Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.corrections.changes import Author, Changed
from workspaces.services.corrections.leaf_state import find_leaf
from workspaces.services.corrections.undo import register_undo
from workspaces.services.principals import Principal

KEPT = "leaf.kept"
LOOKED_AT = 200  # of the newest leaves that hold such words
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class FlaggedLeaf:
    id: UUID
    title: str
    summary: str
    language: str
    created_at: datetime


# Raw SQL: the words are matched in the search index, whose operator the ORM does not have.
_WITH_WORDS = """
SELECT node_id FROM workspaces_lexemeentry
 WHERE workspace_id = %s AND kind = 'leaf' AND status = 'active' AND lexemes @@ %s::tsquery
 ORDER BY node_id DESC LIMIT %s
"""


@cache
def _words() -> str:
    return to_tsquery_literal(sorted({term for term, _ in terms_with_positions(OVERRIDE_WORDS)}))


def flagged_leaves(workspace: Workspace, *, most: int) -> list[FlaggedLeaf]:
    """Newest first, without those that a person kept; inside the caller's step. Three queries."""
    with connection.cursor() as cursor:
        cursor.execute(_WITH_WORDS, [workspace.pk, _words(), LOOKED_AT])
        ids = [row[0] for row in cursor.fetchall()]
    rows = workspace.leaves.filter(id__in=ids, status=SourceLeaf.Status.ACTIVE).order_by("-id")
    found = rows.values_list("id", "title", "summary", "language", "created_at")
    flagged = [FlaggedLeaf(*row) for row in found if overrides_rules(f"{row[1]}\n{row[2]}")]
    kept = _kept(workspace, leaf_ids=[leaf.id for leaf in flagged])
    return [leaf for leaf in flagged if leaf.id not in kept][:most]


def _kept(workspace: Workspace, *, leaf_ids: Sequence[UUID]) -> set[UUID]:
    """Of these, what a person kept and did not take back."""
    targets = [str(leaf_id) for leaf_id in leaf_ids]
    entries = workspace.audit_entries.filter(action=KEPT, target__in=targets)
    still = entries.filter(undone_by=None).values_list("target", flat=True)
    return {UUID(target) for target in still}


def keep_flagged(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, leaf_id: UUID
) -> UUID:
    """A person says that the leaf is harmless; the id of the audit entry. Raises NotFound."""
    leaf = find_leaf(workspace, scopes=scopes, leaf_id=leaf_id)
    return _record(workspace, leaf=leaf, author=Author(principal, KEPT))


def _undo(workspace: Workspace, entry: Audit, author: Author, scopes: Scopes) -> Changed:
    leaf = find_leaf(workspace, scopes=scopes, leaf_id=UUID(entry.target))
    return Changed(leaf_id=leaf.id, audit_id=_record(workspace, leaf=leaf, author=author))


def _record(workspace: Workspace, *, leaf: SourceLeaf, author: Author) -> UUID:
    with workspace_scope(workspace, [leaf.scope_id]):
        return author.record(workspace, scope_id=leaf.scope_id, target_id=leaf.id, detail={})


def register() -> None:
    """Called once when the app is ready."""
    register_undo(KEPT, _undo)

"""What a change by a person gives back, and on whose behalf it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem import faults
from workspaces.models.tenancy import Workspace
from workspaces.services import audit
from workspaces.services.principals import Principal

Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class Changed:
    """`leaf_id` is the leaf that holds the text now, or the one that was taken out.

    None where the change was of an entity.
    """

    leaf_id: UUID | None
    audit_id: UUID


@dataclass(frozen=True, slots=True)
class Corrected:
    leaf_id: UUID
    replaces: UUID
    audit_id: UUID


@dataclass(frozen=True, slots=True)
class Moved:
    """`is_linked`: the other tree had the text already, and its leaf took the sources over."""

    leaf_id: UUID
    moved_from: UUID
    tree_key: str
    audit_id: UUID
    is_linked: bool = False


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes a change, as which action; `undoes` is the entry that it takes back."""

    principal: Principal
    action: str
    undoes: UUID | None = None

    def record(
        self, workspace: Workspace, *, scope_id: UUID, target_id: UUID, detail: Mapping[str, object]
    ) -> UUID:
        """Inside the step of the change."""
        audit_id = audit.record(
            workspace,
            principal=self.principal,
            action=self.action,
            target_id=target_id,
            detail=detail,
            scope_id=scope_id,
            undoes=self.undoes,
        )
        faults.point("change.recorded")
        return audit_id

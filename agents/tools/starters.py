"""Who started a run, as the run keeps it: what its tools may do, and who may not approve them."""

from collections.abc import Iterable
from typing import Any

from agents.models.runs import Run
from workspaces.models.tenancy import ApiKey
from workspaces.services.principals import Principal


def started_by(principal: Principal) -> dict[str, Any]:
    """Ids and permissions only: nothing of it names a person."""
    return {
        "label": principal.label,
        "key_id": None if principal.key_id is None else str(principal.key_id),
        "end_user_id": None if principal.end_user_id is None else str(principal.end_user_id),
        "is_person": principal.is_person,
        "permissions": sorted(principal.permissions),
    }


def permissions_of(run: Run) -> frozenset[str]:
    """What the run's tools may need; an administrator's run has all of them."""
    return all_permissions(run.started_by.get("permissions", ()))


def all_permissions(granted: Iterable[str]) -> frozenset[str]:
    found = frozenset(granted)
    return frozenset(ApiKey.Permission.values) if ApiKey.Permission.ADMIN in found else found

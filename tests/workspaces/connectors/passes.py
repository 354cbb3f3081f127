"""Passes over a folder of markdown, as people and the schedule ask for them."""

from pathlib import Path
from typing import Any
from uuid import UUID

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.workspaces.memory import drain, principal_of
from workspaces.models.connectors import Connector
from workspaces.models.tenancy import Workspace
from workspaces.services.integrations.connectors import (
    create_connector,
    get_connector,
    request_sync,
)

WHERE: dict[str, Any] = {"provider": "files", "account": "notes"}


def connect(workspace: Workspace, folder: Path, **values: Any) -> Connector:
    given = {**WHERE, "kind": "markdown_folder", "settings": {"path": str(folder)}, **values}
    return create_connector(workspace, principal=principal_of(workspace), **given)


def ask(workspace: Workspace, *, allow_deletions: bool = False) -> UUID:
    asked = request_sync(
        workspace,
        principal=principal_of(workspace),
        scopes=ALL_SCOPES,
        allow_deletions=allow_deletions,
        **WHERE,
    )
    return asked.job_id


def synchronise(workspace: Workspace, *, allow_deletions: bool = False) -> Connector:
    """Ask for a pass, and run it with all that follows from it."""
    ask(workspace, allow_deletions=allow_deletions)
    drain(workspace)
    return get_connector(workspace, scopes=None, **WHERE)


def counts(connector: Connector) -> dict[str, int]:
    return {k: v for k, v in connector.progress.items() if k != "failures" and v}


def events(workspace: Workspace) -> int:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.events.count()

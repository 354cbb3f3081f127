"""Texts that a client of the earlier contract keeps under a path of its own."""

import hashlib
import time
from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from workspaces.models.log import Category, Chunk
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import GONE_LEAVES
from workspaces.services import waiting
from workspaces.services.results import POLL_SECONDS_MAX
from workspaces.services.status import WorkspaceStatus, workspace_status

SOURCE = "memory-api"
PATH_CHARACTERS = 160  # with the digest it fits the column of an external id
DIGEST_CHARACTERS = 32
LEAVES = 50
Scopes = Sequence[UUID] | str | None


def document_id(path: str, *, text: str) -> str:
    """The external id of a text: the same text under the same path is stored once."""
    return f"{path}#{hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]}"


def leaves_of_document(workspace: Workspace, *, scopes: Scopes, path: str) -> list[UUID]:
    """The leaves of the newest text under the path that may still be read, in their order.

    Raises NotFound when there is none.
    """
    with workspace_scope(workspace, scopes):
        rows = list(
            workspace.chunks.filter(
                event__source=SOURCE,
                event__category=Category.INTERACTION,
                event__external_id__startswith=f"{path}#",
                leaf__forgotten_at=None,
            )
            .exclude(outcome=Chunk.Outcome.REJECTED)
            .exclude(leaf=None)
            .exclude(leaf__status__in=GONE_LEAVES)
            .order_by("-event_id", "position")
            .values_list("event_id", "leaf_id")[:LEAVES]
        )
    if not rows:
        raise NotFound("There is no such document.")
    newest = rows[0][0]
    return list(dict.fromkeys(leaf_id for event_id, leaf_id in rows if event_id == newest))


def wait_until_idle(
    workspace: Workspace, *, scopes: Scopes, timeout_seconds: float
) -> WorkspaceStatus:
    """The status once no job is left to do, or as it stands at the deadline.

    Without a place to wait it is as at the deadline. Holds no database connection while it waits.
    """
    with waiting.places.place(workspace.tenant_id) as may_wait:
        seconds = timeout_seconds if may_wait else 0.0
        return _waited(workspace, scopes=scopes, timeout_seconds=seconds)


def _waited(workspace: Workspace, *, scopes: Scopes, timeout_seconds: float) -> WorkspaceStatus:
    deadline = time.monotonic() + timeout_seconds
    while True:
        status = workspace_status(workspace, scopes=scopes)
        left = deadline - time.monotonic()
        if status.idle or left <= 0:
            return status
        if not connection.in_atomic_block:
            connection.close()
        time.sleep(min(POLL_SECONDS_MAX, left))

"""What the journal keeps of one erasure: a small file beside the bodies, outside of the database.

Ids, hashes and times only.
"""

import json
import logging
from uuid import UUID

from django.core.files.base import ContentFile

from holamem.database.scope import workspace_scope
from holamem.errors import StorageRefused
from workspaces.bodies import body_storage
from workspaces.models.erasure import Erasure
from workspaces.models.tenancy import Workspace

logger = logging.getLogger(__name__)

ENTRY_FORMAT = 1
JOURNAL_FOLDER = "erasures"


def journal_directory(workspace: Workspace) -> str:
    return f"{workspace.tenant.slug}/{workspace.slug}/{JOURNAL_FOLDER}"


def write_entry(workspace: Workspace, *, erasure: Erasure) -> str:
    """Before anything is deleted for good; the same erasure writes the same file again."""
    with workspace_scope(workspace, [erasure.scope_id]):
        texts = [
            {
                "fingerprint": row.fingerprint,
                "leaf_id": _text(row.leaf_id),
                "event_id": _text(row.event_id),
                "item_sha256": row.item_sha256,
                "observed_at": row.observed_at.isoformat(),
            }
            for row in erasure.texts.order_by("id")
        ]
    document = {
        "format": ENTRY_FORMAT,
        "erasure_id": str(erasure.id),
        "workspace": str(workspace.pk),
        "scope": str(erasure.scope_id),
        "target": {"kind": erasure.target_kind, "id": str(erasure.target_id)},
        "only_this": erasure.only_this,
        "requested_by": erasure.requested_by,
        "requested_at": erasure.requested_at.isoformat(),
        "tombstones": erasure.tombstones,
        "texts": texts,
    }
    path = f"{journal_directory(workspace)}/{erasure.id}.json"
    body_storage().save(path, ContentFile(json.dumps(document, indent=1).encode()))
    return path


def write_entry_early(workspace: Workspace, *, erasure: Erasure) -> None:
    """Right after the request, so that a lost database cannot take an unfinished erasure along.

    A body store that does not answer is left to the job, which writes the entry in any case.
    """
    try:
        write_entry(workspace, erasure=erasure)
    except (OSError, StorageRefused):
        logger.warning("erasure_entry_put_off", extra={"erasure": str(erasure.pk)})


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)

"""Tombstones of texts: what was erased does not come back by the way it once came.

A text stays erased when it is the same statement: from the same event or the same item of its
source, at the same time, or received before the erasure was asked for. The same words said
again later are a new statement, and are judged as any other.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from django.db import connection

from holamem.database.prepared import fetch_rows
from workspaces.models.erasure import ErasedText, Erasure
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.erasure.redaction import ERASED_REASON, redact_events

# A name space of its own, so that the id of a tombstone follows from what it says.
_TOMBSTONES = UUID("5b1f6f0e-1c0a-4a43-9f3c-3f6f4b8f7a51")


class TextErased(RuntimeError):
    """The text of a chunk was erased while it was being written: nothing of it is kept.

    `leaf_id`: the erased leaf that said the same in other words; None where the text is the same.
    """

    def __init__(self, leaf_id: UUID | None = None) -> None:
        super().__init__("this text was erased")
        self.leaf_id = leaf_id


@dataclass(frozen=True, slots=True)
class Statement:
    """One text as it was stated once; ids and hashes only."""

    fingerprint: str
    leaf_id: UUID | None
    event_id: UUID | None
    item_sha256: str
    observed_at: datetime


# One probe of an index; the ORM would take longer to build it, and this runs for every chunk.
ERASED_BY = """
SELECT erasure_id FROM workspaces_erasedtext
 WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND fingerprint = %(fingerprint)s
   AND (event_id = %(event)s OR erased_at >= %(received)s OR observed_at = %(observed)s
        OR (item_sha256 <> '' AND item_sha256 = %(item)s))
 LIMIT 1
"""
_OUTCOME = f"""
SELECT outcome, EXISTS ({ERASED_BY}) FROM workspaces_chunk
 WHERE workspace_id = %(workspace)s AND id = %(chunk)s
"""  # noqa: S608 - a constant


def erased_by(workspace: Workspace, *, event: Event, fingerprint: str) -> UUID | None:
    """The erasure that took this statement, or None; inside the caller's step."""
    with connection.cursor() as cursor:
        cursor.execute(ERASED_BY, statement_values(workspace, event=event, fingerprint=fingerprint))
        row = cursor.fetchone()
    return row[0] if row else None


def statement_values(workspace: Workspace, *, event: Event, fingerprint: str) -> dict[str, Any]:
    """What ERASED_BY asks for."""
    return {
        "workspace": workspace.pk,
        "scope": event.scope_id,
        "fingerprint": fingerprint,
        "event": event.id,
        "received": event.received_at,
        "observed": event.occurred_at or event.received_at,
        "item": item_digest(event),
    }


def outcome_now(workspace: Workspace, *, event: Event, chunk: Chunk) -> tuple[str, bool]:
    """The chunk's outcome, and whether its statement is erased; inside the caller's step."""
    values = statement_values(workspace, event=event, fingerprint=chunk.fingerprint)
    [row] = fetch_rows(_OUTCOME, {**values, "chunk": chunk.id})
    return row[0], row[1]


def erased_chunks(
    workspace: Workspace, *, waiting: Sequence[tuple[Event, Chunk]]
) -> frozenset[UUID]:
    """Ids of the chunks whose statements are erased, of one scope; inside the caller's step."""
    by_text = {chunk.fingerprint for _, chunk in waiting}
    known = set(
        workspace.erased_texts.filter(
            scope_id=waiting[0][0].scope_id, fingerprint__in=by_text
        ).values_list("fingerprint", flat=True)
    )
    return frozenset(
        chunk.id
        for event, chunk in waiting
        if chunk.fingerprint in known
        and erased_by(workspace, event=event, fingerprint=chunk.fingerprint) is not None
    )


def refuse_erased(workspace: Workspace, *, event: Event, fingerprint: str) -> None:
    """Inside the step that commits a leaf. Raises TextErased."""
    if erased_by(workspace, event=event, fingerprint=fingerprint) is not None:
        raise TextErased


def refuse_gone(workspace: Workspace, *, event: Event, leaf_id: UUID | None) -> None:
    """The same for a chunk that says what this leaf said, in whatever words. Raises TextErased."""
    taken = workspace.erased_texts.filter(leaf_id=leaf_id, erased_at__gte=event.received_at)
    if leaf_id is not None and taken.exists():
        raise TextErased(leaf_id)


def keep_erased(
    workspace: Workspace, *, event: Event, chunk: Chunk, leaf_id: UUID | None = None
) -> None:
    """Settle a chunk whose text was erased before it became memory; inside the caller's step."""
    taken = _erasure_of(workspace, event=event, chunk=chunk, leaf_id=leaf_id)
    workspace.chunks.filter(id=chunk.id).update(
        outcome=Chunk.Outcome.REJECTED, reason=ERASED_REASON, text=""
    )
    if taken is not None:
        bury(workspace, erasure=taken, statements=[statement_of(event, chunk.fingerprint, leaf_id)])
    redact_events(workspace, event_ids=[event.id])


def _erasure_of(
    workspace: Workspace, *, event: Event, chunk: Chunk, leaf_id: UUID | None
) -> Erasure | None:
    if leaf_id is not None:
        rows = workspace.erasures.filter(texts__leaf_id=leaf_id)
    else:
        erasure_id = erased_by(workspace, event=event, fingerprint=chunk.fingerprint)
        rows = workspace.erasures.filter(id__in=[erasure_id] if erasure_id else [])
    return rows.first()


def statement_of(event: Event, fingerprint: str, leaf_id: UUID | None) -> Statement:
    observed_at = event.occurred_at or event.received_at
    return Statement(fingerprint, leaf_id, event.id, item_digest(event), observed_at)


def item_digest(event: Event) -> str:
    """Names the item of its source without repeating the name; empty for an event without one."""
    if not event.external_id:
        return ""
    parts = (event.category, event.provider, event.account, event.source, event.external_id)
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def bury(workspace: Workspace, *, erasure: Erasure, statements: Iterable[Statement]) -> None:
    """Write the tombstones once; inside the caller's step."""
    ErasedText.objects.bulk_create(
        (
            ErasedText(
                id=_tombstone_id(workspace, statement),
                workspace=workspace,
                scope_id=erasure.scope_id,
                erasure=erasure,
                fingerprint=statement.fingerprint,
                leaf_id=statement.leaf_id,
                event_id=statement.event_id,
                item_sha256=statement.item_sha256,
                observed_at=statement.observed_at,
                erased_at=erasure.requested_at,
            )
            for statement in statements
        ),
        ignore_conflicts=True,
    )


def _tombstone_id(workspace: Workspace, statement: Statement) -> UUID:
    parts = (workspace.pk, statement.fingerprint, statement.leaf_id, statement.event_id)
    return uuid5(_TOMBSTONES, " ".join(map(str, parts)))

"""Revisions of one object at its source: their order, and whether one was sent before.

An object is named by provider, account, source and external id, inside one scope. Its revisions,
deletions among them, are ordered by the time at which the source last said so, then by arrival.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.placement import SUBJECT_CHARACTERS

_LOOKS_PLACED = re.compile(r"#\d+\Z")


@dataclass(frozen=True, slots=True)
class Revision:
    """`started` is when the source first said so, `at` when it last did; `at` is never earlier."""

    id: UUID
    started: datetime
    at: datetime
    deleted: bool


def object_key(external_id: str, *, position: int, source: str = "") -> str:
    """The subject key of one part of an object; different parts never share one.

    A name that is too long ends in its digest, and one that looks like a part gets a number.
    """
    name = f"{source}: {external_id}" if source else external_id
    is_plain = position == 0 and _LOOKS_PLACED.search(name) is None
    key = name if is_plain else f"{name}#{position}"
    if len(key) <= SUBJECT_CHARACTERS:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    return f"{key[: SUBJECT_CHARACTERS - 33]}~{digest}"


def revisions_of(workspace: Workspace, *, event: Event) -> QuerySet[Any]:
    """The events of this object with `started` and `at`, which are no fields; in the caller's step."""
    return workspace.events.filter(
        category=Category.INTEGRATION,
        scope_id=event.scope_id,
        provider=event.provider,
        account=event.account,
        source=event.source,
        external_id=event.external_id,
    ).annotate(
        started=Coalesce("occurred_at", "received_at"),
        at=Coalesce("confirmed_at", "occurred_at", "received_at"),
    )


def neighbours(workspace: Workspace, *, event: Event) -> tuple[Revision | None, Revision | None]:
    """The revisions before and after this one that memory has taken up at least in part.

    One that waits, or that failed before its first leaf, says nothing yet.
    """
    revisions = revisions_of(workspace, event=event)
    own = revisions.filter(id=event.id).values_list("at", flat=True).first()
    at = own or event.occurred_at or event.received_at
    has_leaf = Exists(
        Chunk.objects.filter(workspace=workspace, event=OuterRef("pk"), leaf__isnull=False)
    )
    begun = revisions.exclude(id=event.id).filter(Q(status=Event.Status.PROCESSED) | has_leaf)
    before = begun.filter(Q(at__lt=at) | Q(at=at, id__lt=event.id)).order_by("-at", "-id")
    after = begun.filter(Q(at__gt=at) | Q(at=at, id__gt=event.id)).order_by("at", "id")
    return _first(before), _first(after)


def _first(revisions: QuerySet[Any]) -> Revision | None:
    row = revisions.values_list("id", "started", "at", "deleted").first()
    return None if row is None else Revision(*row)


def lock_object(event: Event) -> None:
    """One step at a time for an object, until the caller's transaction ends."""
    name = "\n".join(
        [
            event.workspace_id.hex,
            event.scope_id.hex,
            event.provider,
            event.account,
            event.source,
            event.external_id,
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def same_revision(workspace: Workspace, *, event: Event) -> Event | None:
    """The known revision that this event only repeats, inside the caller's step; or None.

    That is the latest one when it says the same, or one that said the same at that time. A text
    that comes back after another one is a new revision. A repetition that is later than the
    latest revision is noted on it, so that older ones that arrive late stay older.
    """
    revisions = revisions_of(workspace, event=event)
    at = event.occurred_at or event.received_at
    latest: Event | None = revisions.order_by("-at", "-id").first()
    if latest is not None and _says_the_same(latest, event=event):
        revisions.filter(id=latest.id, at__lt=at).update(confirmed_at=at)
        return latest
    said_then = revisions.filter(
        text_sha256=event.text_sha256, deleted=event.deleted, started__lte=at, at__gte=at
    )
    found: Event | None = said_then.order_by("id").first()
    return found


def _says_the_same(known: Event, *, event: Event) -> bool:
    return (known.text_sha256, known.deleted) == (event.text_sha256, event.deleted)

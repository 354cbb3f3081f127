"""Reading the journal again: one small file for each erasure, beside the bodies.

A database that is restored from an older dump knows nothing of later erasures; the files do,
and `replay_erasures` takes out again whatever came back.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from holamem.database.scope import ALL_SCOPES, workspace_scope
from workspaces.bodies import body_storage, read_bytes
from workspaces.models.erasure import Erasure
from workspaces.models.log import Chunk
from workspaces.models.tenancy import Workspace
from workspaces.services.erasure.cleaners import tree_ids_of
from workspaces.services.erasure.entry import ENTRY_FORMAT, journal_directory
from workspaces.services.erasure.family import family_of
from workspaces.services.erasure.redaction import (
    ERASED_REASON,
    cover_spans,
    redact_events,
)
from workspaces.services.erasure.request import queue_erasure
from workspaces.services.erasure.taking import lock_family, take_out
from workspaces.services.erasure.texts import Statement, bury
from workspaces.services.erasure.users import forget_person, take_all


def replay_erasures(workspace: Workspace, *, only_open: bool = False) -> int:
    """Erase again what this database still holds of the recorded erasures.

    `only_open` passes over those that the database knows as complete, where files and rows are
    of one moment: what they took is in neither.

    Returns how many of them had something left here. From its return on nothing of it is read;
    the queued jobs remove files that came back. Safe to repeat. Entries of another workspace,
    or that cannot be read, raise ValueError: an erasure must not be passed over in silence.
    """
    complete = _complete(workspace) if only_open else frozenset()
    entries = (row for row in _entries(workspace) if UUID(row["erasure_id"]) not in complete)
    return sum(_replay(workspace, entry=entry) for entry in entries)


def _complete(workspace: Workspace) -> frozenset[UUID]:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.erasures.filter(status=Erasure.Status.COMPLETE)
        return frozenset(rows.values_list("id", flat=True))


def _entries(workspace: Workspace) -> Iterator[dict[str, Any]]:
    directory = journal_directory(workspace)
    try:
        _, names = body_storage().listdir(directory)
    except FileNotFoundError:
        return
    for name in sorted(name for name in names if name.endswith(".json")):
        entry = json.loads(read_bytes(f"{directory}/{name}"))
        if entry["format"] != ENTRY_FORMAT or entry["workspace"] != str(workspace.pk):
            raise ValueError(f"{directory}/{name} is no erasure of this workspace.")
        yield entry


def _replay(workspace: Workspace, *, entry: dict[str, Any]) -> bool:
    with workspace_scope(workspace, [UUID(entry["scope"])]):
        erasure = _stored(workspace, entry=entry)
        if erasure.is_whole_scope:
            return _replay_user(workspace, erasure=erasure, entry=entry)
        leaf_ids = [UUID(leaf["leaf_id"]) for leaf in entry["tombstones"]["leaves"]]
        leaves = lock_family(
            workspace,
            family=lambda: family_of(
                workspace,
                leaf_ids=leaf_ids,
                only_these=erasure.only_this,
                before=erasure.requested_at,
            ),
            tree_ids=tree_ids_of(erasure),
        )
        bury(workspace, erasure=erasure, statements=map(_statement, entry["texts"]))
        if leaves:
            take_out(workspace, erasure=erasure, leaves=leaves)
        had_words = _clear_log(workspace, entry=entry)
        queue_erasure(workspace, erasure=erasure, everywhere=True)
    return bool(leaves) or had_words


def _replay_user(workspace: Workspace, *, erasure: Erasure, entry: dict[str, Any]) -> bool:
    """The person as a whole, with what the entry does not know of and the dump has."""
    user = workspace.end_users.select_for_update().filter(id=erasure.scope_id).first()
    bury(workspace, erasure=erasure, statements=map(_statement, entry["texts"]))
    had_words = workspace.events.exclude(payload_text="").exists()
    had_leaves = take_all(workspace, erasure=erasure)
    if user is not None:
        forget_person(workspace, user=user)
    queue_erasure(workspace, erasure=erasure, everywhere=True)
    return bool(had_leaves) or had_words


def _stored(workspace: Workspace, *, entry: dict[str, Any]) -> Erasure:
    """The erasure, made again where the dump is older; not complete before its job has run."""
    erasure, _ = workspace.erasures.update_or_create(
        id=UUID(entry["erasure_id"]),
        defaults={"status": Erasure.Status.REQUESTED, "completed_at": None},
        create_defaults={
            "workspace": workspace,
            "scope_id": UUID(entry["scope"]),
            "target_kind": entry["target"]["kind"],
            "target_id": UUID(entry["target"]["id"]),
            "only_this": entry["only_this"],
            "requested_by": entry["requested_by"],
            "requested_at": datetime.fromisoformat(entry["requested_at"]),
            "tombstones": entry["tombstones"],
        },
    )
    return erasure


def _statement(entry: dict[str, Any]) -> Statement:
    return Statement(
        fingerprint=entry["fingerprint"],
        leaf_id=UUID(entry["leaf_id"]) if entry["leaf_id"] else None,
        event_id=UUID(entry["event_id"]) if entry["event_id"] else None,
        item_sha256=entry["item_sha256"],
        observed_at=datetime.fromisoformat(entry["observed_at"]),
    )


def _clear_log(workspace: Workspace, *, entry: dict[str, Any]) -> bool:
    """What the dump holds from before it became memory. Whether any of it had words."""
    for text in entry["texts"]:
        if text["event_id"]:
            _reject_waiting(workspace, event_id=UUID(text["event_id"]), text=text)
    events = {UUID(event["event_id"]): event["spans"] for event in entry["tombstones"]["events"]}
    had_text = workspace.events.filter(id__in=events).exclude(payload_text="")
    found = set(had_text.values_list("id", flat=True))
    cut = set(workspace.chunks.filter(event__in=found).values_list("event_id", flat=True))
    redact_events(workspace, event_ids=[id_ for id_ in found if id_ in cut or not events[id_]])
    for event_id in found - cut:
        cover_spans(workspace, event_id=event_id, spans=events[event_id] or ())
    return any(not events[event_id] for event_id in found)


def _reject_waiting(workspace: Workspace, *, event_id: UUID, text: dict[str, Any]) -> None:
    waiting = [Chunk.Outcome.PENDING, Chunk.Outcome.REJECTED]
    workspace.chunks.filter(
        event=event_id, fingerprint=text["fingerprint"], outcome__in=waiting
    ).update(outcome=Chunk.Outcome.REJECTED, reason=ERASED_REASON, text="")

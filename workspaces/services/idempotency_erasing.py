"""Answers that are kept for Idempotency-Keys, when memory is erased: its words go with it."""

import json
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from holamem.database.scope import eraser_scope
from holamem.text.segment import query_terms, terms
from workspaces.models.log import IdempotencyRecord
from workspaces.models.tenancy import Workspace
from workspaces.services.erasure.cleaners import ErasedMemory, register_cleaner


def register() -> None:
    """Called once when the app is ready."""
    register_cleaner("answers", in_job=clean, at_once=clean_at_once)


def clean_at_once(workspace: Workspace, memory: ErasedMemory) -> int:
    return _clean(workspace, memory=memory, spoken=memory.terms)


def clean(workspace: Workspace, memory: ErasedMemory) -> int:
    spoken = {term for text in memory.texts for term in query_terms(text)}
    return _clean(workspace, memory=memory, spoken=spoken)


def _clean(workspace: Workspace, *, memory: ErasedMemory, spoken: Iterable[str]) -> int:
    """Of the whole workspace: a tenant's own key may have changed anybody's memory.

    An answer goes with every word that it shares, also by chance: it is kept for a day only.
    """
    with eraser_scope():
        kept = workspace.idempotency_records.exclude(answer_body="")
        lost = set(spoken)
        trees = _trees_of(workspace, memory=memory) if kept.exists() else set()
        whole = memory.scope_id if memory.is_whole_scope else None
        ids = [
            row.id for row in kept if row.scope_id == whole or _tells(row, trees=trees, words=lost)
        ]
        kept.filter(id__in=ids).update(answer_body="", is_cleaned=True)
    return len(ids)


def _trees_of(workspace: Workspace, *, memory: ErasedMemory) -> set[str]:
    """An answer about a subject names its tree, and has names that need not be in any text."""
    leaves = workspace.leaves.filter(id__in=memory.leaf_ids)
    return set(map(str, leaves.values_list("tree_id", flat=True)))


def _tells(record: IdempotencyRecord, *, trees: set[str], words: set[str]) -> bool:
    strings = list(_strings(json.loads(record.answer_body)))
    if not trees.isdisjoint(strings):
        return True
    return any(not words.isdisjoint(terms(text)) for text in strings if not _is_id(text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True

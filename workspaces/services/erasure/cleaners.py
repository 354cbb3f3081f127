"""Traces outside this app: whoever keeps words about memory cleans its own tables here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from workspaces.models.erasure import Erasure
from workspaces.models.tenancy import Workspace


@dataclass(frozen=True, slots=True)
class ErasedMemory:
    """`texts` and `terms` (as the search index has them) are what goes, as far as it is known in
    this moment; ids are tombstones.
    """

    scope_id: UUID
    leaf_ids: Sequence[UUID]
    summary_ids: Sequence[UUID]
    texts: Sequence[str] = ()
    terms: Sequence[str] = ()
    # All of the scope goes, so that every word in it is erased.
    is_whole_scope: bool = False


# Returns how many rows lost words. May run more than once for the same memory.
Cleaner = Callable[[Workspace, ErasedMemory], int]
_cleaners: dict[str, Cleaner] = {}
_at_once: dict[str, Cleaner] = {}


def register_cleaner(name: str, *, in_job: Cleaner, at_once: Cleaner) -> None:
    """`name` is the count on the receipt; registered once, when its app is ready.

    `at_once` runs in the transaction of the request, for what people read; it must be quick.
    """
    _cleaners[name], _at_once[name] = in_job, at_once


def clean_at_once(workspace: Workspace, *, memory: ErasedMemory) -> dict[str, int]:
    return {name: cleaner(workspace, memory) for name, cleaner in sorted(_at_once.items())}


def clean_traces(workspace: Workspace, *, memory: ErasedMemory) -> dict[str, int]:
    return {name: cleaner(workspace, memory) for name, cleaner in sorted(_cleaners.items())}


def leaf_ids_of(erasure: Erasure) -> list[UUID]:
    return [UUID(entry["leaf_id"]) for entry in erasure.tombstones.get("leaves", [])]


def summary_ids_of(erasure: Erasure) -> list[UUID]:
    return [UUID(entry["summary_id"]) for entry in erasure.tombstones.get("summaries", [])]


def tree_ids_of(erasure: Erasure) -> list[UUID]:
    both = (*erasure.tombstones.get("leaves", []), *erasure.tombstones.get("summaries", []))
    return sorted({UUID(entry["tree_id"]) for entry in both})

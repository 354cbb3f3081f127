"""Which large scopes have a vector index of their own, and the text that names it to the planner.

One index a scope and kind of node: a shared index behind a filter loses neighbours (recall 0.14 to
0.62), and a small scope is searched exactly in less time. An index belongs to one model, since it
is of one dimension. The planner takes a partial index only where its condition stands in the
statement word for word, so these words are written in, not bound.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

from holamem.database.prepared import fetch_rows
from holamem.database.scope import system_scope

# The exact search of so many vectors takes about 10 ms, as long as the rest of the search.
INDEXED_FROM = 10_000
# Below it the index goes: a scope that grows and shrinks by a few must not build it again and again.
KEPT_FROM = 7_500
# Summaries lie scattered among the leaves, a page for each: the exact search of 9,500 took as long
# as all the rest of the search of 104,500 nodes.
COUNTS_AS = {"leaf": 1, "summary": 2}
# Each costs every write and every plan of the table a little (500 of them: 3 ms an insert).
MOST_INDEXES = 50
KNOWN_SECONDS = 60.0
PREFIX = "vector_near"
_LETTERS = {"leaf": "l", "summary": "s"}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}


@dataclass(frozen=True, slots=True, order=True)
class NearIndex:
    """`model_id` and `dimension` are those of the vectors in it."""

    workspace_id: UUID
    scope_id: UUID
    kind: str
    model_id: int
    dimension: int

    @property
    def name(self) -> str:
        """At most 63 bytes; no two scopes share an id."""
        place = f"{self.model_id}_{self.dimension}_{_LETTERS[self.kind]}"
        return f"{PREFIX}_{place}_{self.scope_id.hex}"

    def condition(self, alias: str = "") -> str:
        """The same words in the index and in every search that means it."""
        dot = f"{alias}." if alias else ""
        return (
            f"{dot}workspace_id = '{self.workspace_id}'::uuid"
            f" AND {dot}scope_id = '{self.scope_id}'::uuid"
            f" AND {dot}kind = '{self.kind}' AND {dot}model_id = {self.model_id}"
        )

    def vector(self, value: str) -> str:
        """A column or a parameter as a vector of the index's dimension."""
        return f"({value}::halfvec({self.dimension}))"


@dataclass(frozen=True, slots=True)
class Named:
    """What the name of an index says, and the name of its model."""

    scope_id: UUID
    kind: str
    model_id: int
    dimension: int
    model: str


# Valid ones of the whole installation: there are few, and every search may need some.
_VALID = """
SELECT c.relname::text, m.name
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  JOIN workspaces_embeddingmodel m ON m.id::text = split_part(c.relname::text, '_', 3)
 WHERE i.indrelid = 'workspaces_vectorentry'::regclass AND i.indisvalid AND i.indisready
   AND c.relname LIKE %(like)s
 ORDER BY c.relname
"""
_known: tuple[float, tuple[Named, ...]] = (0.0, ())
_lock = Lock()


def near_indexes(
    workspace_id: UUID, *, scopes: Sequence[UUID], model: str
) -> tuple[NearIndex, ...]:
    """Those of these scopes and this model, as known a minute ago at most.

    One that was dropped since then costs time only: its condition still holds for the rows.
    """
    return tuple(
        NearIndex(workspace_id, named.scope_id, named.kind, named.model_id, named.dimension)
        for named in _known_names()
        if named.model == model and named.scope_id in scopes
    )


def forget_known() -> None:
    """After indexes were built or dropped, in the process that did it. For tests too."""
    global _known
    with _lock:
        _known = (0.0, ())


def _known_names() -> tuple[Named, ...]:
    global _known
    until, names = _known
    if time.monotonic() < until:
        return names
    names = valid_names()
    with _lock:
        _known = (time.monotonic() + KNOWN_SECONDS, names)
    return names


def valid_names() -> tuple[Named, ...]:
    with system_scope():
        rows = fetch_rows(_VALID, {"like": f"{PREFIX}\\_%"})
    named = (parse_name(name, model=model) for name, model in rows)
    return tuple(one for one in named if one is not None)


def parse_name(name: str, *, model: str) -> Named | None:
    """None for an index that is called alike and is no such one."""
    parts = name.removeprefix(f"{PREFIX}_").split("_")
    if len(parts) != 4 or parts[2] not in _KINDS:
        return None
    model_id, dimension, letter, scope = parts
    return Named(UUID(scope), _KINDS[letter], int(model_id), int(dimension), model)

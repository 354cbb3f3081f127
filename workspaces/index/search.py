"""Candidate search: vectors and words in one statement, inside one workspace and its scopes.

Raw SQL because the ORM has no expression for it (window-free BM25 preselection, one
expression per term, halfvec distances to several questions at once) and costs 6-7 ms more a
query. The explicit workspace and scope filters stand beside row-level security on purpose.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from holamem.database import prepared
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.text.tsvector import frequencies, to_tsquery_literal
from workspaces.index.entries import scope_lexeme
from workspaces.index.markers import ASKS, NAMES_TIME
from workspaces.index.near import NearIndex, near_indexes
from workspaces.index.scale import Scale, memories
from workspaces.index.search_sql import Shape, build_statement
from workspaces.models.tenancy import Workspace

# 2 x (110 + 50) candidates at most: the bound of the design is 320.
LEAF_LIMIT = 110
SUMMARY_LIMIT = 50
# With the turns before and after each leaf: 2 x (50 + 10) and these. On the measured
# conversations 96 % of the evidence is among them, of twice 110 without neighbours 94 %.
LEAF_LIMIT_WITH_NEIGHBOURS = 50
SUMMARY_LIMIT_WITH_NEIGHBOURS = 10
NEIGHBOUR_LIMIT = 200
# Very long questions: terms beyond this many add cost and hardly change the ranking.
MAX_TERMS = 64
TERM_COUNTS = (0, 4, 8, 16, 32, MAX_TERMS)
KEPT_LITERALS = 256
NO_TERM = "§none"  # the sign begins scope lexemes; no text yields it

Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """None means "any"; an empty tuple means "nothing". Times are inclusive.

    `observed` and `created` are (from, to); either end may be None. Summaries match `observed`
    when their range overlaps it. `as_of` keeps what was valid at that moment.
    """

    leaves: bool = True
    summaries: bool = True
    include_superseded: bool = False
    categories: tuple[str, ...] | None = None
    tree_ids: tuple[UUID, ...] | None = None
    labels: tuple[str, ...] | None = None
    entity_ids: tuple[UUID, ...] | None = None
    observed: tuple[datetime | None, datetime | None] = (None, None)
    created: tuple[datetime | None, datetime | None] = (None, None)
    as_of: datetime | None = None

    @property
    def leaf_statuses(self) -> list[str]:
        with_history = self.include_superseded or self.as_of is not None
        return ["active", "superseded"] if with_history else ["active"]

    @property
    def narrows_leaves(self) -> bool:
        """Whether some active leaves of the searched trees are filtered out."""
        facets = (self.labels, self.entity_ids, self.as_of, *self.observed, *self.created)
        return any(facet is not None for facet in facets)


@dataclass(frozen=True, slots=True)
class SearchInput:
    """`terms` as `query_terms` makes them; `vectors` are questions of the model's dimension.

    Without vectors the search is by words only, without terms by vectors only.
    `neighbour_limit`: so many leaves that stand beside the found ones in their session come too.
    """

    terms: tuple[str, ...]
    vectors: tuple[Sequence[float], ...]
    model_name: str
    leaf_limit: int = LEAF_LIMIT
    summary_limit: int = SUMMARY_LIMIT
    neighbour_limit: int = 0


@dataclass(frozen=True, slots=True)
class FoundNode:
    """One candidate with what ranking needs.

    `term_counts` follows `SearchInput.terms`, `cosines` follows `vectors` (None: no vector
    yet). `start` and `end` are the observed time of a leaf, the range of a summary.
    `previous_event_id` and `next_event_id` are its neighbours in the session's order.
    `asks`: a leaf that ends in a question; `names_time`: one that says when.
    """

    node_id: UUID
    kind: str
    tree_id: UUID
    category: str
    parent_id: UUID | None
    status: str
    start: datetime
    end: datetime
    created_at: datetime
    valid_until: datetime | None
    length: int
    actor: str
    session_ref: str
    confidence: float
    fingerprint: str
    height: int
    event_id: UUID | None
    previous_event_id: UUID | None
    next_event_id: UUID | None
    asks: bool
    names_time: bool
    term_counts: tuple[int, ...]
    cosines: tuple[float | None, ...]
    entity_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """`documents` counts the entries of the searched scopes, filters apart.

    `pending`: some nodes of these scopes, or of these candidates, have no vector yet.

    `document_frequencies` follows the terms and is exact over those documents.
    """

    nodes: tuple[FoundNode, ...]
    documents: int
    pending: bool
    mean_length: float
    document_frequencies: tuple[int, ...]


def search_nodes(
    workspace: Workspace, *, scopes: Scopes, search: SearchInput, where: NodeFilter
) -> Found:
    """The nearest nodes by vector and the best by words, at most 320, in no order. One statement."""
    terms = search.terms[:MAX_TERMS]
    memory = (workspace.pk, tuple(scope_list(workspace, scopes)))
    scale = memories.scale_of(memory)
    common = memories.common_words(memory, terms)
    found = _search(workspace, scopes=scopes, search=search, where=where, known=(scale, common))
    frequencies_of = dict(zip(terms, found.document_frequencies, strict=True))
    if common and not any(n for term, n in frequencies_of.items() if term not in common):
        # Nothing but common words: then these bring what holds them.
        found = _search(workspace, scopes=scopes, search=search, where=where, known=(scale, {}))
    memories.learn(
        memory,
        scale=Scale(found.documents, found.mean_length),
        frequencies=frequencies_of,
    )
    return found


def _search(
    workspace: Workspace,
    *,
    scopes: Scopes,
    search: SearchInput,
    where: NodeFilter,
    known: tuple[Scale | None, Mapping[str, int]],
) -> Found:
    """`known`: what is remembered of the memory's size and of the question's common words."""
    scale, common = known
    terms = search.terms[:MAX_TERMS]
    near = _near(workspace, scopes=scopes, search=search, where=where) if scale else ()
    shape = Shape(
        terms=len(_padded(terms)),
        vectors=len(search.vectors),
        by_scope=not isinstance(scopes, str),
        neighbours=search.neighbour_limit > 0 and where.leaves,
        is_counted=scale is None,
        near=near,
        near_limits=_limits(search, where) if near else (0, 0),
    )
    values = _values(workspace, scopes=scopes, search=search, where=where)
    values |= _known_values(terms, scale=scale, common=common)
    values |= _scopes_beside(workspace, scopes=scopes, near=near)
    with workspace_scope(workspace, scopes):
        rows = prepared.fetch_rows(build_statement(shape, where=where), values)
    return _found(rows, terms=terms)


def _near(
    workspace: Workspace, *, scopes: Scopes, search: SearchInput, where: NodeFilter
) -> tuple[NearIndex, ...]:
    """None where a filter leaves few: an index gives up before it has found enough of them."""
    narrow = (where.categories, where.tree_ids, where.labels, where.entity_ids)
    if where.narrows_leaves or any(part is not None for part in narrow):
        return ()
    if where.leaf_statuses != ["active"] or not search.vectors:
        return ()
    searched = scope_list(workspace, scopes) or [workspace.pk]
    return near_indexes(workspace.pk, scopes=searched, model=search.model_name)


def _limits(search: SearchInput, where: NodeFilter) -> tuple[int, int]:
    return search.leaf_limit if where.leaves else 0, search.summary_limit if where.summaries else 0


def _scopes_beside(
    workspace: Workspace, *, scopes: Scopes, near: Sequence[NearIndex]
) -> dict[str, list[UUID]]:
    """By kind of node, the scopes that are searched without an index."""
    searched = scope_list(workspace, scopes)
    return {
        f"{kind}_scopes": [
            scope
            for scope in searched
            if not any(n.scope_id == scope and n.kind == kind for n in near)
        ]
        for kind in ("leaf", "summary")
    }


def _known_values(
    terms: Sequence[str], *, scale: Scale | None, common: Mapping[str, int]
) -> dict[str, Any]:
    bringing = [term for term in terms if term not in common] or terms
    values: dict[str, Any] = {"bringing": to_tsquery_literal(bringing)}
    values |= {f"known_{i}": common.get(term, 0) for i, term in enumerate(_padded(terms))}
    if scale is not None:
        values |= {"documents": scale.documents, "mean_length": scale.mean_length}
    return values


def _values(
    workspace: Workspace, *, scopes: Scopes, search: SearchInput, where: NodeFilter
) -> dict[str, Any]:
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scopes": scope_list(workspace, scopes),
        "statuses": where.leaf_statuses,
        "leaf_limit": _limits(search, where)[0],
        "summary_limit": _limits(search, where)[1],
        "neighbour_limit": search.neighbour_limit,
        "model": search.model_name,
        "asks": to_tsquery_literal([ASKS]),
        "names_time": to_tsquery_literal([NAMES_TIME]),
        **_filter_values(where),
    }
    terms = search.terms[:MAX_TERMS]
    values |= {f"term_{i}": to_tsquery_literal([term]) for i, term in enumerate(_padded(terms))}
    values |= {f"vector_{i}": vector_literal(v) for i, v in enumerate(search.vectors)}
    values["any_term"] = to_tsquery_literal(terms)
    values["scope_terms"] = _scope_query(workspace, scopes)
    return values


def _padded(terms: Sequence[str]) -> list[str]:
    """Up to the next usual number of terms, so that the server keeps a few plans only."""
    size = next((size for size in TERM_COUNTS if size >= len(terms)), len(terms))
    return [*terms, *[NO_TERM] * (size - len(terms))]


def _filter_values(where: NodeFilter) -> Mapping[str, Any]:
    return {
        "categories": list(where.categories or ()),
        "tree_ids": list(where.tree_ids or ()),
        "labels": list(where.labels or ()),
        "entity_ids": list(where.entity_ids or ()),
        "observed_from": where.observed[0],
        "observed_to": where.observed[1],
        "created_from": where.created[0],
        "created_to": where.created[1],
        "as_of": where.as_of,
    }


def scope_list(workspace: Workspace, scopes: Scopes) -> list[UUID]:
    """The scopes as a list for SQL; empty where every scope is meant, which no SQL filters by."""
    if scopes is None:
        return [workspace.pk]
    if isinstance(scopes, str):
        return []
    return list(scopes)


def _scope_query(workspace: Workspace, scopes: Scopes) -> str:
    """The lexemes that entries of these scopes carry, so that GIN meets tenant and terms."""
    if scopes == ALL_SCOPES:
        return f"'§{workspace.pk.hex}':*"
    wanted = scope_list(workspace, scopes) or [UUID(int=0)]
    return to_tsquery_literal([scope_lexeme(workspace.pk, scope) for scope in wanted])


def vector_literal(vector: Sequence[float]) -> str:
    return _literal(tuple(vector))


@lru_cache(maxsize=KEPT_LITERALS)
def _literal(vector: tuple[float, ...]) -> str:
    """A question's vector is sent several times: for its candidates and for its gap."""
    return "[" + ",".join(f"{value:.6g}" for value in vector) + "]"


def _found(rows: Sequence[tuple[Any, ...]], *, terms: Sequence[str]) -> Found:
    """The first four columns repeat on every row; a row without a node says "no candidates"."""
    documents, pending, mean_length, document_frequencies = rows[0][:4]
    counts_in = frequencies(terms)
    nodes = tuple(_node(*row[4:], counts_in=counts_in) for row in rows if row[4] is not None)
    return Found(
        nodes=nodes,
        documents=documents,
        pending=pending or any(None in node.cosines or not node.cosines for node in nodes),
        mean_length=mean_length,
        document_frequencies=tuple(document_frequencies or ())[: len(terms)],
    )


def _node(*columns: Any, counts_in: Callable[[str | None], tuple[int, ...]]) -> FoundNode:
    """The columns come in the order of the fields; the last three are lists."""
    *plain, lexemes, cosines, entity_ids = columns
    counts = counts_in(lexemes)
    values = (*plain, counts, tuple(cosines or ()), tuple(entity_ids or ()))
    return FoundNode(*values)

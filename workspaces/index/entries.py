"""Writing the search index: derived rows, put in the transaction of the node or soon after."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from pgvector import HalfVector

from holamem.database.statements import Statement, run_together
from holamem.ids import new_id
from holamem.text.segment import terms_with_positions, to_tsvector_literal
from workspaces.index.markers import markers_of
from workspaces.models.index import EmbeddingModel
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def scope_lexeme(workspace_id: UUID, scope_id: UUID) -> str:
    """The lexeme that every entry of a scope carries, so that GIN meets tenant and terms."""
    return f"§{workspace_id.hex}{scope_id.hex}"


def date_words(moment: datetime) -> str:
    """The day as people ask for it, in both languages (measured: dates in the text help)."""
    month = MONTHS[moment.month - 1]
    return (
        f"{moment:%Y-%m-%d} {moment.day} {month} {moment.year}"
        f" {moment.year}年{moment.month}月{moment.day}日"
    )


def leaf_search_text(*, text: str, actor: str, entity_names: Sequence[str], day: datetime) -> str:
    return "\n".join([text, actor, *entity_names, date_words(day)])


@lru_cache(maxsize=128)
def searched_terms(text: str) -> Sequence[tuple[str, int]]:
    """Terms and places of a search text: asked for when a leaf is planned, and when it is written."""
    return tuple(terms_with_positions(text))


def put_leaf_lexemes(
    workspace: Workspace, *, leaf: SourceLeaf, text: str, entity_names: Sequence[str]
) -> None:
    """In the leaf's own transaction: a committed leaf is findable by text at once."""
    run_together(
        [leaf_lexemes_statement(workspace, leaf=leaf, text=text, entity_names=entity_names)]
    )


def leaf_lexemes_statement(
    workspace: Workspace, *, leaf: SourceLeaf, text: str, entity_names: Sequence[str]
) -> Statement:
    return leaf_lexemes_statements(workspace, leaves=[(leaf, text, entity_names)])


def leaf_lexemes_statements(
    workspace: Workspace, *, leaves: Sequence[tuple[SourceLeaf, str, Sequence[str]]]
) -> Statement:
    """One statement for several leaves, each with its text and the names of its entities."""
    rows = []
    for leaf, text, names in leaves:
        searched = leaf_search_text(
            text=text, actor=leaf.actor, entity_names=names, day=leaf.observed_at
        )
        rows.append(
            _lexemes_row(workspace, node=leaf, kind="leaf", text=searched, markers=markers_of(text))
        )
    return _lexemes_statement(rows)


def put_summary_lexemes(workspace: Workspace, *, node: SummaryNode, text: str) -> None:
    run_together([summary_lexemes_statement(workspace, node=node, text=text)])


def summary_lexemes_statement(workspace: Workspace, *, node: SummaryNode, text: str) -> Statement:
    searched = f"{node.title}\n{text}"
    return _lexemes_statement([_lexemes_row(workspace, node=node, kind="summary", text=searched)])


def _lexemes_row(
    workspace: Workspace,
    *,
    node: SourceLeaf | SummaryNode,
    kind: str,
    text: str,
    markers: Sequence[str] = (),
) -> list[object]:
    """The literal carries positions (term frequencies), which no ORM expression can build."""
    terms = searched_terms(text)
    scope = scope_lexeme(workspace.pk, node.scope_id)
    literal = to_tsvector_literal(terms, extra=[scope, *markers])
    return [
        new_id(),
        workspace.pk,
        node.scope_id,
        node.id,
        node.tree_id,
        kind,
        node.status,
        len(terms),
        literal,
    ]


def _lexemes_statement(rows: Sequence[Sequence[object]]) -> Statement:
    places = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s, %s::tsvector)"] * len(rows))
    return Statement(
        "INSERT INTO workspaces_lexemeentry (id, workspace_id, scope_id, node_id, tree_id,"  # noqa: S608 - places
        f" kind, status, length, lexemes) VALUES {places}"
        " ON CONFLICT (workspace_id, node_id) DO UPDATE"
        " SET status = EXCLUDED.status, length = EXCLUDED.length, lexemes = EXCLUDED.lexemes",
        [value for row in rows for value in row],
    )


def put_vector(
    workspace: Workspace,
    *,
    node: SourceLeaf | SummaryNode,
    model: EmbeddingModel,
    vector: Sequence[float],
) -> None:
    """Insert or replace the node's vector (unit length, the model's dimension)."""
    run_together([vector_statement(workspace, node=node, model=model, vector=vector)])


def vector_statement(
    workspace: Workspace,
    *,
    node: SourceLeaf | SummaryNode,
    model: EmbeddingModel,
    vector: Sequence[float],
) -> Statement:
    """One statement where `update_or_create` takes four."""
    return Statement(
        "INSERT INTO workspaces_vectorentry (id, workspace_id, scope_id, node_id, tree_id, kind,"
        " status, model_id, source_sha256, embedding)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s::halfvec)"
        " ON CONFLICT (workspace_id, node_id) DO UPDATE SET scope_id = EXCLUDED.scope_id,"
        " tree_id = EXCLUDED.tree_id, kind = EXCLUDED.kind, status = EXCLUDED.status,"
        " model_id = EXCLUDED.model_id, source_sha256 = EXCLUDED.source_sha256,"
        " embedding = EXCLUDED.embedding",
        [
            new_id(),
            workspace.pk,
            node.scope_id,
            node.id,
            node.tree_id,
            "leaf" if isinstance(node, SourceLeaf) else "summary",
            node.status,
            model.pk,
            node.body_sha256,
            HalfVector(list(vector)).to_text(),
        ],
    )


def set_entry_status(workspace: Workspace, *, node_ids: Iterable[UUID], status: str) -> None:
    """Mirror a node's new status, so that search needs no join to filter by it."""
    run_together(status_statements(workspace, node_ids=node_ids, status=status))


def status_statements(
    workspace: Workspace, *, node_ids: Iterable[UUID], status: str
) -> list[Statement]:
    ids = list(node_ids)
    values = [str(status), workspace.pk, ids]
    return [Statement(sql, values) for sql in _SET_STATUS] if ids else []


def drop_entries(workspace: Workspace, *, node_ids: Iterable[UUID]) -> None:
    """Remove nodes from search."""
    run_together(drop_statements(workspace, node_ids=node_ids))


def drop_statements(workspace: Workspace, *, node_ids: Iterable[UUID]) -> list[Statement]:
    ids = list(node_ids)
    return [Statement(sql, [workspace.pk, ids]) for sql in _DROP] if ids else []


_ENTRIES = ("workspaces_vectorentry", "workspaces_lexemeentry")
_SET_STATUS = [
    f"UPDATE {table} SET status = %s WHERE workspace_id = %s AND node_id = ANY(%s::uuid[])"  # noqa: S608 - names
    for table in _ENTRIES
]
_DROP = [
    f"DELETE FROM {table} WHERE workspace_id = %s AND node_id = ANY(%s::uuid[])"  # noqa: S608 - names
    for table in _ENTRIES
]

"""The text of the candidate statement. Only fixed pieces and counters go in; values never do."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workspaces.index.search import NodeFilter

K1 = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class Shape:
    """How many terms and vectors there are."""

    terms: int
    vectors: int
    by_scope: bool
    neighbours: bool = False

    @property
    def scope(self) -> str:
        """A condition with a place for the table's alias; row-level security holds without it."""
        return "AND {0}.scope_id = ANY(%(scopes)s::uuid[])" if self.by_scope else ""


def build_statement(shape: Shape, *, where: "NodeFilter") -> str:
    """Statistics, words, vectors and facets in one statement with named parameters.

    Documents with any of the terms are counted per term (exact document frequencies), scored
    as BM25 with a term frequency of one, and only the best are opened for real frequencies.
    """
    parts = [
        _statistics(shape.scope),
        *(_lexical(shape.terms, where=where, scope=shape.scope) if shape.terms else ()),
        *_nearest(shape.vectors, where=where, scope=shape.scope),
    ]
    arms = (["lexical"] if shape.terms else []) + [f"nearest_{i}" for i in range(shape.vectors)]
    chosen = " UNION ".join(f"SELECT node_id FROM {arm}" for arm in arms)
    parts.append(f"found AS MATERIALIZED ({chosen or _NO_NODE})")
    if shape.neighbours:
        parts.append(_beside(where=where, scope=shape.scope))
    parts.append(f"chosen AS ({_CHOSEN_BESIDE if shape.neighbours else _CHOSEN})")
    return "WITH " + ",\n".join(parts) + _answer(shape)


_NO_NODE = "SELECT NULL::uuid AS node_id WHERE false"
_CHOSEN = "SELECT node_id FROM found"
_CHOSEN_BESIDE = "SELECT node_id FROM found UNION SELECT node_id FROM beside"

# The events before and after that of a leaf `l`, whose chunk is `k`, in their session. The order
# is that of the index on sessions, spelled out: a planner without statistics would otherwise walk
# all events by their ids.
_BEFORE_AND_AFTER = """
  LEFT JOIN LATERAL (SELECT p.id FROM workspaces_event p
        WHERE p.workspace_id = %(workspace)s AND p.session_ref = l.session_ref
          AND l.session_ref <> '' AND p.id < k.event_id
        ORDER BY p.workspace_id DESC, p.session_ref DESC, p.id DESC LIMIT 1) before ON true
  LEFT JOIN LATERAL (SELECT p.id FROM workspaces_event p
        WHERE p.workspace_id = %(workspace)s AND p.session_ref = l.session_ref
          AND l.session_ref <> '' AND p.id > k.event_id
        ORDER BY p.workspace_id, p.session_ref, p.id LIMIT 1) after ON true"""


def _beside(*, where: "NodeFilter", scope: str) -> str:
    """Leaves of the turns around the found leaves, inside the same filters.

    The inner limit, which is never reached, keeps the few turns in front: a planner without
    statistics walked all leaves in the order of their ids.
    """
    return f"""
around AS MATERIALIZED (
  SELECT before.id AS before_id, after.id AS after_id
    FROM found f
    JOIN workspaces_sourceleaf l ON l.workspace_id = %(workspace)s AND l.id = f.node_id
    JOIN workspaces_chunk k ON k.workspace_id = %(workspace)s AND k.id = l.chunk_id
    {_BEFORE_AND_AFTER}),
turn AS MATERIALIZED (
  SELECT before_id AS event_id FROM around UNION SELECT after_id FROM around),
beside AS (
  SELECT leaf.node_id FROM turn CROSS JOIN LATERAL (
    SELECT n.id AS node_id
      FROM workspaces_chunk k
      JOIN workspaces_sourceleaf n ON n.workspace_id = %(workspace)s AND n.chunk_id = k.id
      JOIN workspaces_lexemeentry e ON e.workspace_id = %(workspace)s AND e.node_id = n.id
           {scope.format("e")}
     WHERE k.workspace_id = %(workspace)s AND k.event_id = turn.event_id
       AND {_leaf_condition("e", where)}
     LIMIT %(neighbour_limit)s) leaf
   ORDER BY leaf.node_id LIMIT %(neighbour_limit)s)"""


def _statistics(scope: str) -> str:
    """Embedding jobs that have not run say that some nodes have no vector yet."""
    return f"""
statistics AS MATERIALIZED (
  SELECT count(*)::float8 AS documents, coalesce(avg(e.length), 1)::float8 AS mean_length,
         EXISTS (SELECT 1 FROM workspaces_job j
                  WHERE j.workspace_id = %(workspace)s {scope.format("j")}
                    AND j.state IN ('ready', 'running') AND j.topic = 'node.created') AS pending
    FROM workspaces_lexemeentry e
   WHERE e.workspace_id = %(workspace)s {scope.format("e")})"""


def _lexical(term_count: int, *, where: "NodeFilter", scope: str) -> list[str]:
    terms = range(term_count)
    hits = ", ".join(f"(e.lexemes @@ %(term_{i})s::tsquery)::int AS h{i}" for i in terms)
    sums = ", ".join(f"coalesce(sum(h{i}), 0)::float8 AS d{i}" for i in terms)
    # Weights once, and in double precision: as numerics they took half of the statement's time.
    rarities = ", ".join(
        f"ln(1 + (s.documents - q.d{i} + 0.5::float8) / (q.d{i} + 0.5::float8)) AS w{i}"
        for i in terms
    )
    weights = " + ".join(f"m.h{i} * f.w{i}" for i in terms)
    length = f"(1 + {K1}::float8 * ({1 - B}::float8 + {B}::float8 * m.length / s.mean_length))"
    arms = " UNION ALL ".join(
        f"""(SELECT m.node_id FROM matched m, frequency f, statistics s
              WHERE {condition}
              ORDER BY ({weights}) / {length} DESC, m.node_id LIMIT %({kind}_limit)s)"""
        for kind, condition in (
            ("leaf", _leaf_condition("m", where)),
            ("summary", _summary_condition("m", where)),
        )
    )
    return [
        f"""
matched AS MATERIALIZED (
  SELECT e.node_id, e.tree_id, e.kind, e.status, e.length, {hits}
    FROM workspaces_lexemeentry e
   WHERE e.lexemes @@ (%(scope_terms)s::tsquery && %(any_term)s::tsquery)
     AND e.workspace_id = %(workspace)s {scope.format("e")})""",
        f"""
frequency AS MATERIALIZED (
  SELECT q.*, {rarities} FROM (SELECT {sums} FROM matched) q, statistics s)""",
        f"""
lexical AS ({arms})""",
    ]


def _nearest(vector_count: int, *, where: "NodeFilter", scope: str) -> list[str]:
    """One arm a question; several questions share the places."""
    return [
        f"""
nearest_{index} AS (
  (SELECT v.node_id FROM workspaces_vectorentry v
    WHERE v.workspace_id = %(workspace)s {scope.format("v")} AND {_of_model("v")}
      AND {_leaf_condition("v", where)}
    ORDER BY v.embedding <=> %(vector_{index})s::halfvec, v.node_id
    LIMIT %(leaf_limit)s / {vector_count})
  UNION ALL
  (SELECT v.node_id FROM workspaces_vectorentry v
    WHERE v.workspace_id = %(workspace)s {scope.format("v")} AND {_of_model("v")}
      AND {_summary_condition("v", where)}
    ORDER BY v.embedding <=> %(vector_{index})s::halfvec, v.node_id
    LIMIT %(summary_limit)s / {vector_count}))"""
        for index in range(vector_count)
    ]


def _of_model(alias: str) -> str:
    # Vectors of another model are not comparable, and of another dimension an error.
    return f"{alias}.model_id = (SELECT id FROM workspaces_embeddingmodel WHERE name = %(model)s)"


def _leaf_condition(alias: str, where: "NodeFilter") -> str:
    narrow = [f"{alias}.kind = 'leaf'", f"{alias}.status = ANY(%(statuses)s)"]
    return " AND ".join(narrow + _tree_conditions(alias, where) + _leaf_facets(alias, where))


def _summary_condition(alias: str, where: "NodeFilter") -> str:
    narrow = [f"{alias}.kind = 'summary'", f"{alias}.status IN ('sealed', 'stale')"]
    return " AND ".join(narrow + _tree_conditions(alias, where) + _summary_facets(alias, where))


def _tree_conditions(alias: str, where: "NodeFilter") -> list[str]:
    conditions = []
    if where.tree_ids is not None:
        conditions.append(f"{alias}.tree_id = ANY(%(tree_ids)s::uuid[])")
    if where.categories is not None:
        conditions.append(
            f"{alias}.tree_id IN (SELECT t.id FROM workspaces_tree t"
            " WHERE t.workspace_id = %(workspace)s AND t.category = ANY(%(categories)s))"
        )
    return conditions


def _leaf_facets(alias: str, where: "NodeFilter") -> list[str]:
    """Facets sit on the wide rows, so they are joined only when a filter asks for them."""
    conditions = [
        *_between("n.observed_at", "observed", where.observed),
        *_between("n.created_at", "created", where.created),
    ]
    if where.as_of is not None:
        conditions.append(
            "n.observed_at <= %(as_of)s AND (n.valid_until IS NULL OR n.valid_until > %(as_of)s)"
        )
    if where.labels is not None:
        conditions.append("n.labels && %(labels)s::varchar[]")
    if where.entity_ids is not None:
        conditions.append(
            "(n.entity_id = ANY(%(entity_ids)s::uuid[]) OR n.id IN ("
            "SELECT k.leaf_id FROM workspaces_leafentity k WHERE k.workspace_id = %(workspace)s"
            " AND k.entity_id = ANY(%(entity_ids)s::uuid[])))"
        )
    return _joined(alias, "workspaces_sourceleaf", conditions)


def _summary_facets(alias: str, where: "NodeFilter") -> list[str]:
    start, end = where.observed
    conditions = _between("n.created_at", "created", where.created)
    if start is not None:
        conditions.append("n.time_range_end >= %(observed_from)s")
    if end is not None:
        conditions.append("n.time_range_start <= %(observed_to)s")
    if where.as_of is not None:
        conditions.append("n.time_range_end <= %(as_of)s")
    if where.labels is not None:
        conditions.append("n.labels && %(labels)s::varchar[]")
    if where.entity_ids is not None:
        conditions.append(
            "n.tree_id IN (SELECT t.id FROM workspaces_tree t"
            " WHERE t.workspace_id = %(workspace)s AND t.entity_id = ANY(%(entity_ids)s::uuid[]))"
        )
    return _joined(alias, "workspaces_summarynode", conditions)


def _between(column: str, name: str, span: tuple[object, object]) -> list[str]:
    start = [f"{column} >= %({name}_from)s"] if span[0] is not None else []
    end = [f"{column} <= %({name}_to)s"] if span[1] is not None else []
    return start + end


def _joined(alias: str, table: str, conditions: list[str]) -> list[str]:
    if not conditions:
        return []
    inside = " AND ".join(conditions)
    return [
        f"{alias}.node_id IN (SELECT n.id FROM {table} n"
        f" WHERE n.workspace_id = %(workspace)s AND {inside})"
    ]


def _answer(shape: Shape) -> str:
    frequencies = (
        "(SELECT ARRAY["
        + ", ".join(f"f.d{i}" for i in range(shape.terms))
        + "]::int[] FROM frequency f)"
        if shape.terms
        else "NULL::int[]"
    )
    cosines = ", ".join(
        f"1 - (v.embedding <=> %(vector_{i})s::halfvec)" for i in range(shape.vectors)
    )
    matches = "e.lexemes @@ %(any_term)s::tsquery" if shape.terms else "false"
    # In the order of the fields of `FoundNode`, after four that are the same for all.
    return f"""
SELECT s.documents::int, s.pending, s.mean_length, {frequencies} AS document_frequencies,
       c.node_id, CASE WHEN l.id IS NULL THEN 'summary' ELSE 'leaf' END AS kind,
       coalesce(l.tree_id, n.tree_id) AS tree_id, coalesce(l.category, n.category) AS category,
       coalesce(l.parent_id, n.parent_id) AS parent_id, coalesce(l.status, n.status) AS status,
       coalesce(l.observed_at, n.time_range_start) AS start,
       coalesce(l.observed_at, n.time_range_end) AS "end",
       coalesce(l.created_at, n.created_at) AS created_at, l.valid_until,
       coalesce(e.length, 1) AS length, coalesce(l.actor, '') AS actor,
       coalesce(l.session_ref, '') AS session_ref, coalesce(l.confidence, 1) AS confidence,
       coalesce(l.fingerprint, '') AS fingerprint, coalesce(n.height, 0) AS height,
       k.event_id, before.id AS previous_event_id, after.id AS next_event_id,
       coalesce(e.lexemes @@ %(asks)s::tsquery, false) AS asks,
       coalesce(e.lexemes @@ %(names_time)s::tsquery, false) AS names_time,
       CASE WHEN {matches} THEN e.lexemes::text END AS lexemes,
       CASE WHEN v.id IS NULL THEN NULL ELSE ARRAY[{cosines}]::float8[] END AS cosines,
       CASE WHEN l.entity_id IS NULL THEN others.ids ELSE l.entity_id || others.ids END
         AS entity_ids
  FROM statistics s
  LEFT JOIN chosen c ON true
  LEFT JOIN workspaces_sourceleaf l ON l.workspace_id = %(workspace)s AND l.id = c.node_id
  LEFT JOIN workspaces_summarynode n ON n.workspace_id = %(workspace)s AND n.id = c.node_id
  LEFT JOIN workspaces_lexemeentry e ON e.workspace_id = %(workspace)s AND e.node_id = c.node_id
  LEFT JOIN workspaces_vectorentry v ON v.workspace_id = %(workspace)s AND v.node_id = c.node_id
        AND {_of_model("v")}
  LEFT JOIN workspaces_chunk k ON k.workspace_id = %(workspace)s AND k.id = l.chunk_id{_BEFORE_AND_AFTER}
  LEFT JOIN (SELECT x.leaf_id, array_agg(x.entity_id ORDER BY x.id) AS ids
               FROM workspaces_leafentity x
              WHERE x.workspace_id = %(workspace)s AND x.leaf_id IN (SELECT node_id FROM chosen)
              GROUP BY x.leaf_id) others ON others.leaf_id = l.id"""

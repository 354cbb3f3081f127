"""The text of the candidate statement. Only fixed pieces and counters go in; values never do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspaces.index import scale
from workspaces.index.near import NearIndex

if TYPE_CHECKING:
    from workspaces.index.search import NodeFilter

K1 = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class Shape:
    """How many terms and vectors there are.

    `is_counted`: entries are counted, else what the caller remembers is bound. `near`: vector
    indexes that serve this search, with `near_limits` for leaves and summaries.
    """

    terms: int
    vectors: int
    by_scope: bool
    neighbours: bool = False
    is_counted: bool = True
    near: tuple[NearIndex, ...] = ()
    near_limits: tuple[int, int] = (0, 0)

    @property
    def scope(self) -> str:
        """A condition with a place for the table's alias; row-level security holds without it."""
        return "AND {0}.scope_id = ANY(%(scopes)s::uuid[])" if self.by_scope else ""


def build_statement(shape: Shape, *, where: "NodeFilter") -> str:
    """Statistics, words, vectors and facets in one statement with named parameters.

    Documents with any of the terms are counted per term (exact document frequencies), scored
    as BM25 with a term frequency of one, and only the best are opened for real frequencies.
    `strip` unpacks a long document once, and not for every term (a third of the time with 5,000
    leaves); `OFFSET 0` keeps the planner from undoing that.
    """
    parts = [
        _statistics(shape),
        *(_lexical(shape.terms, where=where, scope=shape.scope) if shape.terms else ()),
        *_nearest(shape, where=where),
    ]
    arms = (["lexical"] if shape.terms else []) + [f"nearest_{i}" for i in range(shape.vectors)]
    chosen = " UNION ".join(f"SELECT node_id FROM {arm}" for arm in arms)
    parts.append(f"found AS MATERIALIZED ({chosen or _NO_NODE})")
    if shape.neighbours:
        parts.append(_beside(where=where, scope=shape.scope))
    parts.append(f"chosen AS MATERIALIZED ({_CHOSEN_BESIDE if shape.neighbours else _chosen()})")
    return "WITH " + ",\n".join(parts) + _answer(shape)


_NO_NODE = "SELECT NULL::uuid AS node_id WHERE false"

# The events before and after that of a leaf `l` in their session. The order is that of the index
# on sessions, spelled out: a planner without statistics would otherwise walk all events by their
# ids.
_BEFORE_AND_AFTER = """
  LEFT JOIN LATERAL (SELECT p.id FROM workspaces_event p
        WHERE p.workspace_id = %(workspace)s AND p.session_ref = l.session_ref
          AND l.session_ref <> '' AND p.id < l.event_id
        ORDER BY p.workspace_id DESC, p.session_ref DESC, p.id DESC LIMIT 1) before ON true
  LEFT JOIN LATERAL (SELECT p.id FROM workspaces_event p
        WHERE p.workspace_id = %(workspace)s AND p.session_ref = l.session_ref
          AND l.session_ref <> '' AND p.id > l.event_id
        ORDER BY p.workspace_id, p.session_ref, p.id LIMIT 1) after ON true"""


def _by_id(table: str, alias: str, condition: str, *, is_needed: bool = False) -> str:
    """A row of the workspace for each row so far, looked up behind a limit that is never reached.

    Plans that are kept for any workspace read all 100,000 leaves of a large one instead, for three
    hundred of them.
    """
    join = "CROSS JOIN" if is_needed else "LEFT JOIN"
    end = "" if is_needed else " ON true"
    return (
        f"{join} LATERAL (SELECT x.* FROM {table} x WHERE x.workspace_id = %(workspace)s"
        f" AND x.{condition} LIMIT 1) {alias}{end}"
    )


# Each with its event and the two around it; of the found ones they are known.
_CHOSEN_BESIDE = f"""
  SELECT f.node_id, a.event_id, a.before_id, a.after_id
    FROM found f LEFT JOIN around a ON a.node_id = f.node_id
  UNION ALL
  SELECT l.node_id, l.event_id, before.id, after.id FROM beside l{_BEFORE_AND_AFTER}
   WHERE l.node_id NOT IN (SELECT node_id FROM found)"""


def _chosen() -> str:
    """The found nodes, where no neighbours of theirs are searched."""
    return f"""
  SELECT f.node_id, k.event_id, before.id AS before_id, after.id AS after_id
    FROM found f
    {_by_id("workspaces_sourceleaf", "n", "id = f.node_id")}
    {_by_id("workspaces_chunk", "k", "id = n.chunk_id")}
   CROSS JOIN LATERAL (SELECT n.session_ref, k.event_id) l{_BEFORE_AND_AFTER}"""


def _beside(*, where: "NodeFilter", scope: str) -> str:
    """Leaves of the turns around the found leaves, inside the same filters.

    The inner limit, which is never reached, keeps the few turns in front: a planner without
    statistics walked all leaves in the order of their ids.
    """
    return f"""
around AS MATERIALIZED (
  SELECT f.node_id, k.event_id, before.id AS before_id, after.id AS after_id
    FROM found f
    {_by_id("workspaces_sourceleaf", "n", "id = f.node_id", is_needed=True)}
    {_by_id("workspaces_chunk", "k", "id = n.chunk_id", is_needed=True)}
   CROSS JOIN LATERAL (SELECT n.session_ref, k.event_id) l{_BEFORE_AND_AFTER}),
turn AS MATERIALIZED (
  SELECT before_id AS event_id FROM around UNION SELECT after_id FROM around),
beside AS (
  SELECT leaf.node_id, leaf.session_ref, turn.event_id FROM turn CROSS JOIN LATERAL (
    SELECT n.id AS node_id, n.session_ref
      FROM workspaces_chunk k
      JOIN workspaces_sourceleaf n ON n.workspace_id = %(workspace)s AND n.chunk_id = k.id
      JOIN workspaces_lexemeentry e ON e.workspace_id = %(workspace)s AND e.node_id = n.id
           {scope.format("e")}
     WHERE k.workspace_id = %(workspace)s AND k.event_id = turn.event_id
       AND {_leaf_condition("e", where)}
     LIMIT %(neighbour_limit)s) leaf
   ORDER BY leaf.node_id LIMIT %(neighbour_limit)s)"""


def _statistics(shape: Shape) -> str:
    """Embedding jobs that have not run say that some nodes have no vector yet."""
    counted = f"""count(*)::float8 AS documents, coalesce(avg(e.length), 1)::float8 AS mean_length
    FROM workspaces_lexemeentry e
   WHERE e.workspace_id = %(workspace)s {shape.scope.format("e")}"""
    remembered = "%(documents)s::float8 AS documents, %(mean_length)s::float8 AS mean_length"
    return f"""
statistics AS MATERIALIZED (
  SELECT c.documents, c.mean_length,
         EXISTS (SELECT 1 FROM workspaces_job j
                  WHERE j.workspace_id = %(workspace)s {shape.scope.format("j")}
                    AND j.state IN ('ready', 'running') AND j.topic = 'node.created') AS pending
    FROM (SELECT {counted if shape.is_counted else remembered}) c)"""


def _most() -> str:
    """Entries that a word may bring in a large memory; all in a small one."""
    share = f"{scale.COMMON_SHARE} * s.documents"
    return f"CASE WHEN s.documents < {scale.LARGE_FROM} THEN s.documents ELSE {share} END"


def _lexical(term_count: int, *, where: "NodeFilter", scope: str) -> list[str]:
    terms = range(term_count)
    hits = ", ".join(f"(e.words @@ %(term_{i})s::tsquery)::int AS h{i}" for i in terms)
    # Of a word that is known to be common, and brought nothing, the frequency is bound.
    sums = ", ".join(
        f"greatest(coalesce(sum(h{i}), 0)::float8, %(known_{i})s::float8) AS d{i}" for i in terms
    )
    # Weights once, and in double precision: as numerics they took half of the statement's time.
    rarities = ", ".join(
        f"ln(1 + (s.documents - q.d{i} + 0.5::float8) / (q.d{i} + 0.5::float8)) AS w{i}"
        for i in terms
    )
    rare = ", ".join(f"(q.d{i} > 0 AND q.d{i} <= q.most)::int AS r{i}" for i in terms)
    has_rare = " + ".join(f"f.r{i}" for i in terms)
    brings = " + ".join(f"m.h{i} * f.r{i}" for i in terms)
    weights = " + ".join(f"m.h{i} * f.w{i}" for i in terms)
    length = f"(1 + {K1}::float8 * ({1 - B}::float8 + {B}::float8 * m.length / s.mean_length))"
    arms = " UNION ALL ".join(
        f"""(SELECT m.node_id FROM matched m, frequency f, statistics s
              WHERE {condition} AND ({brings} > 0 OR {has_rare} = 0)
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
    FROM (SELECT x.node_id, x.tree_id, x.kind, x.status, x.length, strip(x.lexemes) AS words
            FROM workspaces_lexemeentry x
           WHERE x.lexemes @@ (%(scope_terms)s::tsquery && %(bringing)s::tsquery)
             AND x.workspace_id = %(workspace)s {scope.format("x")}
          OFFSET 0) e)""",
        f"""
frequency AS MATERIALIZED (
  SELECT q.*, {rarities}, {rare}
    FROM (SELECT {sums}, (SELECT {_most()} FROM statistics s) AS most FROM matched) q,
         statistics s)""",
        f"""
lexical AS ({arms})""",
    ]


def _nearest(shape: Shape, *, where: "NodeFilter") -> list[str]:
    """One arm a question; several questions share the places."""
    return [
        f"""
nearest_{index} AS (
  ({_nearest_of("leaf", index, shape=shape, where=where)})
  UNION ALL
  ({_nearest_of("summary", index, shape=shape, where=where)}))"""
        for index in range(shape.vectors)
    ]


def _nearest_of(kind: str, index: int, *, shape: Shape, where: "NodeFilter") -> str:
    condition = (_leaf_condition if kind == "leaf" else _summary_condition)("v", where)
    near = [one for one in shape.near if one.kind == kind]
    scope = _scopes_beside(near, shape=shape) if near else shape.scope.format("v")
    exact = f"""SELECT v.node_id, v.embedding <=> %(vector_{index})s::halfvec AS distance
     FROM workspaces_vectorentry v
    WHERE v.workspace_id = %(workspace)s {scope} AND {_of_model("v")} AND {condition}
    ORDER BY v.embedding <=> %(vector_{index})s::halfvec, v.node_id
    LIMIT %({kind}_limit)s / {shape.vectors}"""
    if not near:
        return f"SELECT node_id FROM ({exact}) x"
    limit = shape.near_limits[0 if kind == "leaf" else 1] // shape.vectors
    arms = [_by_index(one, index, condition=condition, limit=limit) for one in near]
    together = " UNION ALL ".join(f"({arm})" for arm in (*arms, exact))
    return f"SELECT node_id FROM ({together}) x ORDER BY distance, node_id LIMIT {limit}"


def _scopes_beside(near: Sequence[NearIndex], *, shape: Shape) -> str:
    """The searched scopes without those that have an index."""
    ids = ", ".join(f"'{one.scope_id}'::uuid" for one in near)
    if shape.by_scope:
        return f"AND v.scope_id = ANY(%({near[0].kind}_scopes)s::uuid[])"
    return f"AND v.scope_id NOT IN ({ids})"


def _by_index(near: NearIndex, index: int, *, condition: str, limit: int) -> str:
    """The limit stands in the text: of a bound one the planner thinks that it is a tenth of all."""
    distance = f"{near.vector('v.embedding')} <=> {near.vector(f'%(vector_{index})s')}"
    return f"""SELECT v.node_id, {distance} AS distance FROM workspaces_vectorentry v
    WHERE {near.condition("v")} AND {condition} ORDER BY {distance} LIMIT {limit}"""


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
       c.event_id, c.before_id AS previous_event_id, c.after_id AS next_event_id,
       coalesce(e.lexemes @@ %(asks)s::tsquery, false) AS asks,
       coalesce(e.lexemes @@ %(names_time)s::tsquery, false) AS names_time,
       CASE WHEN {matches} THEN e.lexemes::text END AS lexemes,
       CASE WHEN v.id IS NULL THEN NULL ELSE ARRAY[{cosines}]::float8[] END AS cosines,
       CASE WHEN l.entity_id IS NULL THEN others.ids ELSE l.entity_id || others.ids END
         AS entity_ids
  FROM statistics s
  LEFT JOIN chosen c ON true
  {_by_id("workspaces_sourceleaf", "l", "id = c.node_id")}
  {_by_id("workspaces_summarynode", "n", "id = c.node_id")}
  {_by_id("workspaces_lexemeentry", "e", "node_id = c.node_id")}
  {_by_id("workspaces_vectorentry", "v", "node_id = c.node_id AND " + _of_model("x"))}
  LEFT JOIN (SELECT x.leaf_id, array_agg(x.entity_id ORDER BY x.id) AS ids
               FROM workspaces_leafentity x
              WHERE x.workspace_id = %(workspace)s AND x.leaf_id IN (SELECT node_id FROM chosen)
              GROUP BY x.leaf_id) others ON others.leaf_id = l.id"""

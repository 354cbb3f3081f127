"""The statement that loads chosen nodes with everything an answer shows about them."""

# A merged entity is shown as what it became part of. Sources come creator first; conflicts are other
# active leaves of the tree on the same subject.
# Each row is looked up by its id, behind a limit that is never reached: a plan for any workspace began
# with all trees of one of 100,000 leaves (400 ms).
STATEMENT = """
WITH leaf AS MATERIALIZED (
  SELECT one.* FROM unnest(%(nodes)s::uuid[]) wanted(id) CROSS JOIN LATERAL (
    SELECT l.* FROM workspaces_sourceleaf l
     WHERE l.workspace_id = %(workspace)s {leaf_scope} AND l.id = wanted.id
       AND l.status IN ('active', 'superseded') AND l.forgotten_at IS NULL LIMIT 1) one),
summary AS MATERIALIZED (
  SELECT one.* FROM unnest(%(nodes)s::uuid[]) wanted(id) CROSS JOIN LATERAL (
    SELECT s.* FROM workspaces_summarynode s
     WHERE s.workspace_id = %(workspace)s {summary_scope} AND s.id = wanted.id
       AND s.status IN ('sealed', 'stale') AND NOT s.withheld LIMIT 1) one)
SELECT l.id AS node_id, 'leaf' AS kind, l.tree_id, t.key AS tree_key, t.title AS tree_title,
       l.category, t.provider, t.account, 0 AS level, l.title, l.summary, l.body_path,
       l.body_sha256, l.observed_at AS start, l.observed_at AS "end", l.status, l.confidence,
       l.verification_policy, l.staleness_policy, l.stale_after_days, l.labels, l.language,
       l.actor, l.subject_key, l.fingerprint, 0 AS children_count,
       entities.found AS entities,
       (SELECT v.metadata::json FROM workspaces_chunk c
          JOIN workspaces_event v ON v.workspace_id = %(workspace)s AND v.id = c.event_id
         WHERE c.workspace_id = %(workspace)s AND c.id = l.chunk_id) AS metadata,
       sources.found AS sources, conflicts.found AS conflicts,
       l.supersedes_leaf_id AS supersedes
  FROM leaf l
 CROSS JOIN LATERAL (SELECT * FROM workspaces_tree t
                      WHERE t.workspace_id = %(workspace)s AND t.id = l.tree_id LIMIT 1) t
  LEFT JOIN LATERAL (
    SELECT json_agg(json_build_object('id', e.id, 'name', e.name) ORDER BY q.rank, e.name) AS found
      FROM (SELECT coalesce(named.merged_into_id, named.id) AS id, min(p.rank) AS rank
              FROM (SELECT l.entity_id AS id, 0 AS rank UNION
                    SELECT k.entity_id, 1 FROM workspaces_leafentity k
                     WHERE k.workspace_id = %(workspace)s AND k.leaf_id = l.id) p
             CROSS JOIN LATERAL (SELECT * FROM workspaces_entity e
                     WHERE e.workspace_id = %(workspace)s AND e.id = p.id LIMIT 1) named
             GROUP BY 1) q
      JOIN workspaces_entity e ON e.workspace_id = %(workspace)s AND e.id = q.id
     WHERE NOT e.is_system) entities ON true
  LEFT JOIN LATERAL (
    SELECT json_agg(json_build_object('event_id', v.id,
             'at', coalesce(v.occurred_at, v.received_at), 'metadata', v.metadata)
             ORDER BY o.is_creator DESC, v.id) AS found
      FROM (SELECT * FROM workspaces_leafsource o
             WHERE o.workspace_id = %(workspace)s AND o.leaf_id = l.id
             ORDER BY o.is_creator DESC, o.event_id LIMIT 50) o
      JOIN workspaces_event v ON v.workspace_id = %(workspace)s AND v.id = o.event_id
    ) sources ON true
  LEFT JOIN LATERAL (
    SELECT array_agg(x.id ORDER BY x.id) AS found FROM workspaces_sourceleaf x
     WHERE x.workspace_id = %(workspace)s AND x.tree_id = l.tree_id AND x.status = 'active'
       AND l.status = 'active' AND l.subject_key <> '' AND x.subject_key = l.subject_key
       AND x.id <> l.id AND x.fingerprint <> l.fingerprint) conflicts ON true
UNION ALL
SELECT s.id, 'summary', s.tree_id, t.key, t.title, s.category, t.provider, t.account, s.level,
       s.title, s.summary, s.body_path, s.body_sha256, s.time_range_start, s.time_range_end,
       s.status, 1.0, 'none', 'stable', NULL, s.labels, s.language, '', '', '',
       cardinality(s.child_ids),
       (SELECT json_agg(json_build_object('id', e.id, 'name', e.name)) FROM workspaces_entity e
         WHERE e.workspace_id = %(workspace)s AND e.id = t.entity_id AND NOT e.is_system),
       NULL::json, NULL, NULL, NULL
  FROM summary s
 CROSS JOIN LATERAL (SELECT * FROM workspaces_tree t
                      WHERE t.workspace_id = %(workspace)s AND t.id = s.tree_id LIMIT 1) t
"""

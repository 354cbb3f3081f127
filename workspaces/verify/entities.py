"""Entities: one name, one owner; a tree reads like its entity; a merged one owns nothing."""

# ruff: noqa: S608 - queries are put together from the constants of these modules only

from workspaces.verify.findings import Check, rows

RENAME = "Rename or merge one of the two."
RESTORE = "Restore the row from a backup."
MERGE_AGAIN = "Retry the parked job of the merge; `verify --fix` queues one that is missing."
LIVE_JOB = (
    " EXISTS (SELECT 1 FROM workspaces_job AS j WHERE j.topic = '{topic}'"
    " AND j.target_id = {target} AND j.state IN ('ready', 'running', 'parked'))"
)
MERGE_JOB = LIVE_JOB.format(topic="entity.merge", target="m.id")

CHECKS = (
    Check(
        "N1",
        "No two entities of a type and scope share a name or an alias.",
        rows(
            "entity",
            "SELECT min(e.id::text), known FROM workspaces_entity AS e,"
            " unnest(e.normalised_names) AS known WHERE e.workspace_id = %(workspace)s"
            " AND e.merged_into_id IS NULL GROUP BY e.scope_id, e.type, known"
            " HAVING count(DISTINCT e.id) > 1",
        ),
        RENAME,
    ),
    Check(
        "N2",
        "The compared names of an entity are its own; a merged one and the bucket have none.",
        rows(
            "entity",
            "SELECT id FROM workspaces_entity WHERE workspace_id = %(workspace)s"
            " AND CASE WHEN is_system OR merged_into_id IS NOT NULL"
            " THEN cardinality(normalised_names) > 0"
            " ELSE normalised_names[1] IS DISTINCT FROM normalised_name"
            " OR cardinality(normalised_names) > 1 + cardinality(aliases) END",
        ),
        RESTORE,
    ),
    Check(
        "N3",
        "The title of an entity's tree is its name.",
        rows(
            "tree",
            "SELECT t.id FROM workspaces_tree AS t JOIN workspaces_entity AS e"
            " ON e.id = t.entity_id WHERE t.workspace_id = %(workspace)s AND t.title <> e.name",
        ),
        "Rename the entity to the name that it should have.",
    ),
    Check(
        "N4",
        "A merged entity names a live one of its scope, and a merge in force says so.",
        rows(
            "entity",
            "SELECT e.id FROM workspaces_entity AS e"
            " LEFT JOIN workspaces_entity AS t ON t.id = e.merged_into_id"
            " WHERE e.workspace_id = %(workspace)s AND (e.merged_into_id IS NOT NULL"
            " AND (t.merged_into_id IS NOT NULL OR t.is_system OR t.scope_id <> e.scope_id)"
            " OR (e.merged_into_id IS NOT NULL) <> EXISTS (SELECT 1"
            " FROM workspaces_entitymerge AS m WHERE m.source_id = e.id"
            " AND m.state IN ('moving', 'done')))",
        ),
        RESTORE,
    ),
    Check(
        "N5",
        "A merged entity owns no active leaf, or its merge is still at work.",
        rows(
            "leaf",
            "SELECT l.id FROM workspaces_sourceleaf AS l"
            " JOIN workspaces_entity AS e ON e.id = l.entity_id"
            " WHERE l.workspace_id = %(workspace)s AND l.status = 'active'"
            " AND e.merged_into_id IS NOT NULL AND NOT EXISTS ("
            "SELECT 1 FROM workspaces_entitymerge AS m WHERE m.source_id = e.id"
            f" AND m.state = 'moving' AND {MERGE_JOB})",
        ),
        MERGE_AGAIN,
    ),
    Check(
        "N6",
        "A merge or an undo that has not ended has a job that goes on with it.",
        rows(
            "merge",
            "SELECT m.id, m.state FROM workspaces_entitymerge AS m"
            " WHERE m.workspace_id = %(workspace)s AND m.state IN ('moving', 'undoing')"
            f" AND NOT {MERGE_JOB}",
        ),
        MERGE_AGAIN,
    ),
    Check(
        "N7",
        "An entity whose leaves carry former names in search has a job that writes them again.",
        rows(
            "entity",
            "SELECT e.id FROM workspaces_entity AS e WHERE e.workspace_id = %(workspace)s"
            " AND e.names_indexed_to IS NOT NULL AND NOT"
            f" {LIVE_JOB.format(topic='entity.names', target='e.id')}",
        ),
        "`verify --fix` queues the job.",
    ),
    Check(
        "N8",
        "A leaf that a merge took along stands in the tree of the target, and once.",
        rows(
            "leaf",
            "SELECT k.leaf_id FROM workspaces_mergedleaf AS k"
            " JOIN workspaces_sourceleaf AS old ON old.id = k.leaf_id"
            " JOIN workspaces_entitymerge AS m ON m.id = k.merge_id"
            " LEFT JOIN workspaces_sourceleaf AS new ON new.id = k.became_id"
            " WHERE k.workspace_id = %(workspace)s AND k.kind IN ('moved', 'linked')"
            " AND NOT k.is_undone AND 'erased' NOT IN (old.status, new.status)"
            " AND (old.status = 'active'"
            " OR new.entity_id IS DISTINCT FROM m.target_id"
            " OR new.fingerprint <> old.fingerprint)",
        ),
        RESTORE,
    ),
)

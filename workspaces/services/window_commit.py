"""The commit of a window: all files first, then everything else of all its leaves in one step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from holamem import faults
from holamem.database.rows import read_rows
from holamem.database.scope import workspace_scope
from holamem.database.statements import Statement, run_together
from workspaces.bodies import save_bodies, written_body
from workspaces.body_paths import scope_directory
from workspaces.index.entries import status_statements
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.duplicates import MAX_RIVALS
from workspaces.services.entities.names import HOLD_ENTITIES
from workspaces.services.erasure.texts import TextErased, statement_values
from workspaces.services.job_rows import HELD_LEASES, NewJob, lease_values, new_jobs_statement
from workspaces.services.jobs import LeaseLost, wake_for
from workspaces.services.leaf_rows import NewLeaf, follow_ups, window_statements
from workspaces.services.leaves import (
    PlanChanged,
    birth_of,
    build_leaf,
    in_order,
    leaf_body,
    removed_on_refusal,
)
from workspaces.services.topology import mark_chain_stale
from workspaces.services.windows import Planned


def commit_window(workspace: Workspace, *, planned: Sequence[Planned]) -> None:
    """New leaves and superseding ones of one scope, of owners that exist: all of them or none.

    Raises PlanChanged, IntegrityError, TextErased or LeaseLost for the sake of any one of them;
    then no row and no file is left, and each can be tried alone.
    """
    leaves = _write_bodies(workspace, planned=planned)
    _reached("leaf.after_file", planned)
    scope_id = planned[0].waiting.event.scope_id
    paths = [leaf.body_path for leaf in leaves]
    with removed_on_refusal(paths), workspace_scope(workspace, [scope_id]):
        held = _hold(workspace, planned=planned)
        new = [
            NewLeaf(one.plan, leaf, entities)
            for one, leaf, entities in zip(planned, leaves, held.entities, strict=True)
        ]
        mark_chain_stale(workspace, start=held.parents)
        jobs = _follow_ups(new)
        run_together(
            [
                *_retirements(workspace, new=new),
                *window_statements(workspace, new=new),
                new_jobs_statement(workspace, jobs=jobs),
            ]
        )
        _reached("leaf.after_row", planned)
        wake_for(jobs)
        _reached("leaf.before_commit", planned)
    _reached("leaf.after_commit", planned)


def _reached(name: str, planned: Sequence[Planned]) -> None:
    """Once for each leaf, as if they were written one by one."""
    for _ in planned:
        faults.point(name)


def _write_bodies(workspace: Workspace, *, planned: Sequence[Planned]) -> list[SourceLeaf]:
    trees = {one.plan.owner.tree.id: one.plan.owner.tree for one in planned}
    directories = {key: scope_directory(workspace, tree=tree) for key, tree in trees.items()}
    leaves, files = [], {}
    for one in planned:
        plan = one.plan
        leaf = build_leaf(workspace, plan=plan, directory=directories[plan.owner.tree.id])
        birth = birth_of(workspace, plan=plan)
        data = leaf_body(leaf, owner=plan.owner, text=plan.chunk.text, birth=birth)
        body = written_body(leaf.body_path, data)
        leaf.body_sha256, leaf.body_bytes = body.sha256, body.size
        leaves.append(leaf)
        files[leaf.body_path] = data
    save_bodies(files)
    return leaves


def _follow_ups(new: Sequence[NewLeaf]) -> list[NewJob]:
    """Each once: leaves of one tree are sealed by one pass."""
    jobs: dict[tuple[str, UUID], NewJob] = {}
    for one in new:
        for job in follow_ups(one.leaf, plan=one.plan):
            jobs.setdefault((job.topic, job.target_id), job)
    return sorted(jobs.values(), key=lambda job: (job.topic == Job.Topic.TREE_DIRTY, job.target_id))


# Locks in the order of the write path: trees, entities, leaves, jobs. What stands there is looked
# at once the trees are held.
_HOLD_TREES = """
SELECT id FROM workspaces_tree
 WHERE workspace_id = %(workspace)s AND id = ANY(%(trees)s::uuid[]) ORDER BY id FOR UPDATE
"""
_STANDING = f"""
SELECT wanted.place,
       EXISTS (SELECT 1 FROM workspaces_sourceleaf
                WHERE workspace_id = %(workspace)s AND tree_id = wanted.tree
                  AND fingerprint = wanted.fingerprint AND status = 'active'),
       ARRAY(SELECT id FROM workspaces_sourceleaf
              WHERE workspace_id = %(workspace)s AND tree_id = wanted.tree
                AND subject_key = wanted.subject AND subject_key <> '' AND status = 'active'
              ORDER BY id DESC LIMIT {MAX_RIVALS})
  FROM unnest(%(places)s::int[], %(their_trees)s::uuid[], %(fingerprints)s::text[],
              %(subjects)s::text[]) AS wanted (place, tree, fingerprint, subject)
 ORDER BY wanted.place
"""  # noqa: S608 - a constant
_ERASED = """
SELECT 1 FROM workspaces_erasedtext AS taken
  JOIN unnest(%(fingerprints)s::text[], %(events)s::uuid[], %(received)s::timestamptz[],
              %(observed)s::timestamptz[], %(items)s::text[])
       AS told (fingerprint, event, received, observed, item) USING (fingerprint)
 WHERE taken.workspace_id = %(workspace)s AND taken.scope_id = %(scope)s
   AND (taken.event_id = told.event OR taken.erased_at >= told.received
        OR taken.observed_at = told.observed
        OR (taken.item_sha256 <> '' AND taken.item_sha256 = told.item))
 LIMIT 1
"""
_HOLD_OLD = """
SELECT id, status, parent_id FROM workspaces_sourceleaf
 WHERE workspace_id = %(workspace)s AND id = ANY(%(old)s::uuid[]) ORDER BY id FOR UPDATE
"""
_HOLD = f"{_HOLD_TREES};{_STANDING};{_ERASED};{HOLD_ENTITIES};{_HOLD_OLD};{HELD_LEASES}"


@dataclass(frozen=True, slots=True)
class _Held:
    """By leaf its entities, the owner first; the summaries above the leaves that are replaced.

    Until the commit nobody renames or merges the entities.
    """

    entities: list[list[Entity]]
    parents: list[UUID | None]


def _hold(workspace: Workspace, *, planned: Sequence[Planned]) -> _Held:
    """What the plans rest on is still so. Raises PlanChanged, TextErased and LeaseLost."""
    ids = [_entity_ids(one) for one in planned]
    values = _values(workspace, planned=planned, entities={key for row in ids for key in row})
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, values)
        if len(cursor.fetchall()) < len(values["trees"]):
            raise PlanChanged
        cursor.nextset()
        for one, (_, has_same_text, rivals) in zip(planned, cursor.fetchall(), strict=True):
            if has_same_text or tuple(rivals) != one.plan.resolution.rivals:
                raise PlanChanged
        cursor.nextset()
        if cursor.fetchone() is not None:
            raise TextErased
        cursor.nextset()
        held = {entity.id: entity for entity in read_rows(Entity, cursor)}
        cursor.nextset()
        old = [row for row in cursor.fetchall() if row[1] == SourceLeaf.Status.ACTIVE]
        cursor.nextset()
        leases = cursor.fetchall()
    if len(old) < len(values["old"]) or not held.keys() >= {key for row in ids for key in row}:
        raise PlanChanged
    if len(leases) < len(values["jobs"]):
        raise LeaseLost
    entities = [
        in_order(one.plan, ids=row, rows=[held[key] for key in row])
        for one, row in zip(planned, ids, strict=True)
    ]
    return _Held(entities, [row[2] for row in old])


def _entity_ids(planned: Planned) -> list[UUID]:
    plan = planned.plan
    secondary = [UUID(given) for given in plan.placement.secondary_ids]
    first = [plan.owner.entity.id] if plan.owner.entity is not None else []
    return list(dict.fromkeys([*first, *secondary]))


def _values(
    workspace: Workspace, *, planned: Sequence[Planned], entities: set[UUID]
) -> dict[str, Any]:
    plans = [one.plan for one in planned]
    told = [
        statement_values(workspace, event=plan.event, fingerprint=plan.chunk.fingerprint)
        for plan in plans
    ]
    tokens = {one.waiting.job.id: one.waiting.job.lease_token for one in planned}
    return {
        "workspace": workspace.pk,
        "scope": plans[0].event.scope_id,
        "trees": list({plan.owner.tree.id for plan in plans}),
        "places": list(range(len(plans))),
        "their_trees": [plan.owner.tree.id for plan in plans],
        "fingerprints": [plan.chunk.fingerprint for plan in plans],
        "subjects": [plan.placement.subject_key for plan in plans],
        "events": [values["event"] for values in told],
        "received": [values["received"] for values in told],
        "observed": [values["observed"] for values in told],
        "items": [values["item"] for values in told],
        "entities": list(entities),
        "old": [key for plan in plans if (key := plan.resolution.leaf_id) is not None],
        **lease_values(tokens),
    }


def _retirements(workspace: Workspace, *, new: Sequence[NewLeaf]) -> list[Statement]:
    """Before the inserts, so that the one active fingerprint a tree allows is free."""
    pairs = [(old, one.leaf) for one in new if (old := one.plan.resolution.leaf_id) is not None]
    if not pairs:
        return []
    old_ids = [old for old, _ in pairs]
    retired = Statement(
        "UPDATE workspaces_sourceleaf AS old SET status = 'superseded',"
        " valid_until = heir.since, superseded_by_id = heir.id"
        " FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[]) AS heir (old, id, since)"
        " WHERE old.workspace_id = %s AND old.id = heir.old",
        [
            old_ids,
            [leaf.id for _, leaf in pairs],
            [leaf.observed_at for _, leaf in pairs],
            workspace.pk,
        ],
    )
    status = SourceLeaf.Status.SUPERSEDED
    return [retired, *status_statements(workspace, node_ids=old_ids, status=status)]

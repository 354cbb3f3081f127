"""What new leaves rest on, held until their commit: trees, entities, known leaves and leases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from holamem.database.rows import read_rows
from workspaces.models.entities import Entity
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.entities.names import HOLD_ENTITIES
from workspaces.services.entities.resolving import today_of
from workspaces.services.erasure.texts import TextErased, statement_values
from workspaces.services.job_rows import HELD_LEASES, lease_values
from workspaces.services.jobs import ClaimedJob, LeaseLost
from workspaces.services.known_leaves import MAX_RIVALS
from workspaces.services.leaf_rows import LeafPlan
from workspaces.services.lineage import Part, resolve_part


class PlanChanged(RuntimeError):
    """What the plan was made from changed before the commit; plan again."""


@dataclass(frozen=True, slots=True)
class Held:
    """By leaf its entities, the owner first; the known leaves that the plans rest on, by id.

    Until the commit nobody renames or merges the entities.
    """

    entities: list[list[Entity]]
    known: dict[UUID, SourceLeaf]


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
_HOLD_KNOWN = """
SELECT * FROM workspaces_sourceleaf
 WHERE workspace_id = %(workspace)s AND id = ANY(%(known)s::uuid[]) ORDER BY id FOR UPDATE
"""
_HOLD = f"{_HOLD_TREES};{_STANDING};{_ERASED};{HOLD_ENTITIES};{_HOLD_KNOWN};{HELD_LEASES}"


def hold(workspace: Workspace, *, plans: Sequence[LeafPlan], jobs: Iterable[ClaimedJob]) -> Held:
    """What the plans rest on is still so; inside the step that commits them.

    Raises PlanChanged, TextErased and LeaseLost.
    """
    ids = _entity_ids(workspace, plans=plans)
    values = _values(workspace, plans=plans, entities={key for row in ids for key in row})
    leases = lease_values({job.id: job.lease_token for job in jobs})
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, {**values, **leases})
        if len(cursor.fetchall()) < len(values["trees"]):
            raise PlanChanged
        cursor.nextset()
        for plan, (_, has_same_text, rivals) in zip(plans, cursor.fetchall(), strict=True):
            if _is_judged(plan) and (has_same_text or tuple(rivals) != plan.resolution.rivals):
                raise PlanChanged  # another worker wrote on the same subject: compare again
        cursor.nextset()
        if cursor.fetchone() is not None:
            raise TextErased
        cursor.nextset()
        entities = {entity.id: entity for entity in read_rows(Entity, cursor)}
        cursor.nextset()
        known = {leaf.id: leaf for leaf in read_rows(SourceLeaf, cursor)}
        cursor.nextset()
        if len(cursor.fetchall()) < len(leases["jobs"]):
            raise LeaseLost
    for plan in plans:
        _require_known(workspace, plan=plan, known=known)
    rows = [[entities[key] for key in row if key in entities] for row in ids]
    return Held([_as_planned(*each) for each in zip(plans, ids, rows, strict=True)], known)


def _is_judged(plan: LeafPlan) -> bool:
    return plan.event.category == Category.INTERACTION


def _require_known(workspace: Workspace, *, plan: LeafPlan, known: dict[UUID, SourceLeaf]) -> None:
    """The leaf that the plan rests on is still active; in integration the revisions decide."""
    if not _is_judged(plan):
        require_part(workspace, plan=plan)
    elif plan.resolution.leaf_id is not None:
        leaf = known.get(plan.resolution.leaf_id)
        if leaf is None or leaf.status != SourceLeaf.Status.ACTIVE:
            raise PlanChanged


def require_part(workspace: Workspace, *, plan: LeafPlan) -> None:
    """The revisions of the object decide the same again; the tree's row is locked."""
    decided = Part(plan.resolution, plan.placement.subject_key)
    tree = plan.owner.tree
    if resolve_part(workspace, event=plan.event, chunk=plan.chunk, tree=tree) != decided:
        raise PlanChanged


def _entity_ids(workspace: Workspace, *, plans: Sequence[LeafPlan]) -> list[list[UUID]]:
    """By plan the primary entity, then the secondary ones as they are today."""
    given = {UUID(key) for plan in plans for key in plan.placement.secondary_ids}
    today = today_of(workspace, ids=given) if given else {}
    found = []
    for plan in plans:
        first = [plan.owner.entity.id] if plan.owner.entity is not None else []
        secondary = [UUID(key) for key in plan.placement.secondary_ids]
        others = [today[key] for key in secondary if key in today]
        found.append(list(dict.fromkeys([*first, *others])))
    return found


def _as_planned(plan: LeafPlan, ids: Sequence[UUID], rows: Sequence[Entity]) -> list[Entity]:
    """Raises PlanChanged when somebody renamed or merged them since the plan was made."""
    known = [entity for entity in rows if entity.scope_id == plan.owner.tree.scope_id]
    if len(rows) < len(ids) or any(entity.merged_into_id is not None for entity in known):
        raise PlanChanged
    planned = plan.owner.entity
    if planned is not None and known[0].name != planned.name:
        raise PlanChanged
    return known


def _values(
    workspace: Workspace, *, plans: Sequence[LeafPlan], entities: Iterable[UUID]
) -> dict[str, Any]:
    told = [
        statement_values(workspace, event=plan.event, fingerprint=plan.chunk.fingerprint)
        for plan in plans
    ]
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
        "known": [key for plan in plans if (key := plan.resolution.leaf_id) is not None],
    }

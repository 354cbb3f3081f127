"""The end of a revision: what its object no longer says is no longer current."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import F

from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import Conflict
from workspaces.index.entries import drop_entries
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services.jobs import ClaimedJob, require_lease
from workspaces.services.revisions import lock_object
from workspaces.services.topology import (
    mark_chain_quarantined,
    mark_chain_stale,
    request_seal,
)

# Revisions that memory has taken up: `started` and `at` order them as services/revisions.py does.
_BEGUN = """
SELECT e.id, e.scope_id, e.provider, e.account, e.source, e.external_id,
       coalesce(e.occurred_at, e.received_at) AS started,
       coalesce(e.confirmed_at, e.occurred_at, e.received_at) AS at
  FROM workspaces_event AS e
 WHERE e.workspace_id = %(workspace)s AND e.category = 'integration'
   AND (e.status = 'processed' OR EXISTS (
     SELECT 1 FROM workspaces_chunk AS c WHERE c.event_id = e.id AND c.leaf_id IS NOT NULL))
"""
_SAME_OBJECT = """
({a}.scope_id, {a}.provider, {a}.account, {a}.source, {a}.external_id)
 = ({b}.scope_id, {b}.provider, {b}.account, {b}.source, {b}.external_id)
"""
_OF_OBJECT = """
({a}.scope_id, {a}.provider, {a}.account, {a}.source, {a}.external_id)
 = (%(scope)s, %(provider)s, %(account)s, %(source)s, %(object)s)
"""
_IS_LATER = "({a}.at, {a}.id) > ({b}.at, {b}.id)"

# Active leaves that this object once said and that no object's latest revision says. A leaf was
# true until the last of its objects said something else.
_LEFT_OVER = f"""
WITH begun AS NOT MATERIALIZED ({_BEGUN}), said AS (
  SELECT DISTINCT link.leaf_id FROM begun
    JOIN workspaces_leafsource AS link
      ON link.workspace_id = %(workspace)s AND link.event_id = begun.id
   WHERE {_OF_OBJECT.format(a="begun")})
SELECT leaf.id, leaf.parent_id, greatest(leaf.observed_at, (
         SELECT max(stop.at) FROM workspaces_leafsource AS link
           JOIN begun ON begun.id = link.event_id
           CROSS JOIN LATERAL (
             SELECT min(newer.started) AS at FROM begun AS newer
              WHERE {_SAME_OBJECT.format(a="newer", b="begun")}
                AND {_IS_LATER.format(a="newer", b="begun")}) AS stop
          WHERE link.workspace_id = %(workspace)s AND link.leaf_id = leaf.id))
  FROM said JOIN workspaces_sourceleaf AS leaf
    ON leaf.workspace_id = %(workspace)s AND leaf.id = said.leaf_id AND leaf.status = 'active'
 WHERE NOT EXISTS (
   SELECT 1 FROM workspaces_leafsource AS link JOIN begun ON begun.id = link.event_id
    WHERE link.workspace_id = %(workspace)s AND link.leaf_id = leaf.id
      AND NOT EXISTS (SELECT 1 FROM begun AS newer
                       WHERE {_SAME_OBJECT.format(a="newer", b="begun")}
                         AND {_IS_LATER.format(a="newer", b="begun")}))
"""  # noqa: S608 - put together from the constants above

# What an earlier revision of this object alone said, and was thought to be true for longer.
_OVERLAPPING = f"""
WITH begun AS NOT MATERIALIZED ({_BEGUN}), own AS (
  SELECT * FROM begun WHERE id = %(event)s)
UPDATE workspaces_sourceleaf AS leaf
   SET valid_until = greatest(leaf.observed_at, own.started), updated_at = now()
  FROM own
 WHERE leaf.workspace_id = %(workspace)s AND leaf.status IN ('superseded', 'inactive')
   AND leaf.valid_until > own.started
   AND leaf.id IN (
     SELECT link.leaf_id FROM begun
       JOIN workspaces_leafsource AS link
         ON link.workspace_id = %(workspace)s AND link.event_id = begun.id
      WHERE {_OF_OBJECT.format(a="begun")} AND {_IS_LATER.format(a="own", b="begun")})
   AND NOT EXISTS (
     SELECT 1 FROM workspaces_leafsource AS link
       JOIN workspaces_event AS source
         ON source.workspace_id = %(workspace)s AND source.id = link.event_id
      WHERE link.workspace_id = %(workspace)s AND link.leaf_id = leaf.id
        AND (link.event_id = own.id OR NOT {_OF_OBJECT.format(a="source")}
             OR coalesce(source.confirmed_at, source.occurred_at, source.received_at) > own.at))
"""  # noqa: S608 - put together from the constants above


# Of each object that once said this leaf: whether its latest revision still does, or is a deletion.
_LATEST = f"""
WITH begun AS NOT MATERIALIZED ({_BEGUN}), said AS (
  SELECT begun.* FROM begun JOIN workspaces_leafsource AS link
      ON link.workspace_id = %(workspace)s AND link.event_id = begun.id
   WHERE link.leaf_id = %(leaf)s)
SELECT latest.id IN (SELECT id FROM said), latest.deleted
  FROM said CROSS JOIN LATERAL (
    SELECT newer.id, e.deleted FROM begun AS newer
      JOIN workspaces_event AS e ON e.workspace_id = %(workspace)s AND e.id = newer.id
     WHERE {_SAME_OBJECT.format(a="newer", b="said")}
     ORDER BY newer.at DESC, newer.id DESC LIMIT 1) AS latest
"""  # noqa: S608 - put together from the constants above


@dataclass(frozen=True, slots=True)
class _LeftOver:
    leaf_id: UUID
    parent_id: UUID | None
    valid_until: datetime


def refuse_unsaid(workspace: Workspace, *, leaf_id: UUID) -> None:
    """Raises Conflict when no object of the source says this leaf any more; in the caller's step."""
    with connection.cursor() as cursor:
        cursor.execute(_LATEST, {"workspace": workspace.pk, "leaf": leaf_id})
        latest = cursor.fetchall()
    if not latest or any(is_said for is_said, _ in latest):
        return
    if all(is_deleted for _, is_deleted in latest):
        raise Conflict(
            "This leaf was deleted at its source; it comes back when the source has it again.",
            detail={"code": "deleted_at_source"},
        )
    raise Conflict(
        "The source of this leaf no longer says it.", detail={"code": "changed_at_source"}
    )


def settle_revision(workspace: Workspace, *, job: ClaimedJob, event: Event) -> None:
    """Mark the revision processed, and retire what it leaves behind, in one step.

    Whichever of two revisions of an object settles later sees the other, so that what the latest
    one does not say is never left current. Order of locks: object, tree, leaves, job.
    """
    with workspace_scope(workspace, [event.scope_id]):
        lock_object(event)
        tree = (
            workspace.trees.select_for_update()
            .filter(category=event.category, provider=event.provider, account=event.account)
            .first()
        )
        require_lease(job)
        workspace.events.filter(id=event.id).update(status=Event.Status.PROCESSED, error="")
        if tree is not None:
            _retire(workspace, tree=tree, event=event)


def _retire(workspace: Workspace, *, tree: Tree, event: Event) -> None:
    left_over = _left_over(workspace, event=event)
    for leaf in left_over:
        workspace.leaves.filter(id=leaf.leaf_id).update(
            status=SourceLeaf.Status.INACTIVE, valid_until=leaf.valid_until
        )
    shortened = _end_earlier_versions(workspace, event=event)
    if left_over:
        drop_entries(workspace, node_ids=[leaf.leaf_id for leaf in left_over])
        _mark_above(workspace, parents=[leaf.parent_id for leaf in left_over], event=event)
    if left_over or shortened:
        workspace.trees.filter(id=tree.id).update(
            leaf_count=F("leaf_count") - len(left_over), updated_at=now()
        )
        request_seal(workspace, tree=tree)
    workspace.trees.filter(id=tree.id, leaf_count=0).update(status=Tree.Status.EMPTY)


def _mark_above(workspace: Workspace, *, parents: Sequence[UUID | None], event: Event) -> None:
    """What was deleted at its source is not read in a summary either; a change may wait."""
    if event.deleted:
        mark_chain_quarantined(workspace, start=parents)
    else:
        mark_chain_stale(workspace, start=parents)


def _left_over(workspace: Workspace, *, event: Event) -> list[_LeftOver]:
    with connection.cursor() as cursor:
        cursor.execute(_LEFT_OVER, _parameters(workspace, event=event))
        return [_LeftOver(*row) for row in cursor.fetchall()]


def _end_earlier_versions(workspace: Workspace, *, event: Event) -> int:
    """A revision that arrived late lies between two others. Returns the number of leaves."""
    with connection.cursor() as cursor:
        cursor.execute(_OVERLAPPING, _parameters(workspace, event=event))
        return int(cursor.rowcount)


def _parameters(workspace: Workspace, *, event: Event) -> dict[str, str | UUID]:
    return {
        "workspace": workspace.pk,
        "scope": event.scope_id,
        "source": event.source,
        "object": event.external_id,
        "provider": event.provider,
        "account": event.account,
        "event": event.id,
    }

"""Revisions of one object at its source: its name in a tree, and what a revision leaves behind."""

import hashlib
import re
from uuid import UUID

from django.db import connection
from django.db.models import F, QuerySet

from holamem.clock import now
from holamem.database.scope import workspace_scope
from workspaces.index.entries import drop_entries
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.jobs import ClaimedJob, require_lease
from workspaces.services.placement import SUBJECT_CHARACTERS
from workspaces.services.topology import mark_chain_stale, request_seal

_LOOKS_PLACED = re.compile(r"#\d+\Z")


def object_key(external_id: str, *, position: int) -> str:
    """The subject key of one part of an object; different parts never share one.

    A name that is too long ends in its digest, and one that looks like a part gets a number.
    """
    is_plain = position == 0 and _LOOKS_PLACED.search(external_id) is None
    key = external_id if is_plain else f"{external_id}#{position}"
    if len(key) <= SUBJECT_CHARACTERS:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    return f"{key[: SUBJECT_CHARACTERS - 33]}~{digest}"


def same_revision(revisions: QuerySet[Event], *, event: Event) -> Event | None:
    """The text of the latest revision, or the same text at the same time: sent again.

    A text that comes back after another one is a new revision.
    """
    latest = revisions.order_by("-id").first()
    if latest is None or latest.text_sha256 == event.text_sha256:
        return latest
    if event.occurred_at is None:
        return None
    return revisions.filter(text_sha256=event.text_sha256, occurred_at=event.occurred_at).first()


# Active leaves that an earlier revision of this object yielded and this one did not, unless the
# latest revision of another object says the same, or this revision is not the latest itself.
_LEFT_OVER = """
WITH later AS (
  SELECT 1 FROM workspaces_event AS e
   WHERE e.workspace_id = %(workspace)s AND e.source = %(source)s
     AND e.external_id = %(object)s AND e.category = 'integration' AND e.scope_id = %(scope)s
     AND e.provider = %(provider)s AND e.account = %(account)s AND e.id <> %(event)s
     AND (coalesce(e.occurred_at, e.received_at), e.id) > (%(at)s, %(event)s))
SELECT DISTINCT leaf.id, leaf.tree_id, leaf.parent_id
  FROM workspaces_event AS earlier
  JOIN workspaces_leafsource AS link
    ON link.workspace_id = %(workspace)s AND link.event_id = earlier.id
  JOIN workspaces_sourceleaf AS leaf
    ON leaf.workspace_id = %(workspace)s AND leaf.id = link.leaf_id AND leaf.status = 'active'
 WHERE earlier.workspace_id = %(workspace)s AND earlier.source = %(source)s
   AND earlier.external_id = %(object)s AND earlier.category = 'integration'
   AND earlier.scope_id = %(scope)s AND earlier.provider = %(provider)s
   AND earlier.account = %(account)s AND NOT EXISTS (SELECT 1 FROM later)
   AND NOT EXISTS (SELECT 1 FROM workspaces_leafsource AS own
                    WHERE own.leaf_id = leaf.id AND own.event_id = %(event)s)
   AND NOT EXISTS (
     SELECT 1 FROM workspaces_leafsource AS shared
       JOIN workspaces_event AS other
         ON other.workspace_id = %(workspace)s AND other.id = shared.event_id
      WHERE shared.leaf_id = leaf.id AND other.external_id <> %(object)s
        AND NOT EXISTS (
          SELECT 1 FROM workspaces_event AS newer
           WHERE newer.workspace_id = %(workspace)s AND newer.source = other.source
             AND newer.external_id = other.external_id AND newer.category = 'integration'
             AND newer.scope_id = other.scope_id AND newer.provider = other.provider
             AND newer.account = other.account
             AND (coalesce(newer.occurred_at, newer.received_at), newer.id)
                 > (coalesce(other.occurred_at, other.received_at), other.id)))
"""


def retire_left_over(workspace: Workspace, *, job: ClaimedJob, event: Event) -> None:
    """What an earlier revision said and the latest one dropped is no longer so."""
    with workspace_scope(workspace, [event.scope_id]):
        tree = (
            workspace.trees.select_for_update()
            .filter(category=event.category, provider=event.provider, account=event.account)
            .first()
        )
        if tree is None:
            return
        rows = _left_over(workspace, event=event)
        ids = [leaf_id for leaf_id, _, _ in rows]
        require_lease(job)
        if not ids:
            return
        workspace.leaves.filter(id__in=ids).update(status=SourceLeaf.Status.INACTIVE)
        drop_entries(workspace, node_ids=ids)
        mark_chain_stale(workspace, start=[parent_id for _, _, parent_id in rows])
        workspace.trees.filter(id=tree.id).update(
            leaf_count=F("leaf_count") - len(ids), updated_at=now()
        )
        request_seal(workspace, tree=tree)


def _left_over(workspace: Workspace, *, event: Event) -> list[tuple[UUID, UUID, UUID | None]]:
    with connection.cursor() as cursor:
        cursor.execute(
            _LEFT_OVER,
            {
                "workspace": workspace.pk,
                "scope": event.scope_id,
                "source": event.source,
                "object": event.external_id,
                "provider": event.provider,
                "account": event.account,
                "event": event.id,
                "at": event.occurred_at or event.received_at,
            },
        )
        return list(cursor.fetchall())

"""Versions of one memory: each is valid until the next younger one was observed.

Older information may arrive after newer, so a version can take its place between two others.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf

# Everything that this leaf, directly or through others, took the place of. The ORM has no
# recursive query.
_OLDER_VERSIONS = """
WITH RECURSIVE version AS (
  SELECT id, observed_at, valid_until FROM workspaces_sourceleaf
   WHERE workspace_id = %(workspace)s AND tree_id = %(tree)s AND superseded_by_id = %(newest)s
     AND status = 'superseded'
  UNION
  SELECT older.id, older.observed_at, older.valid_until FROM workspaces_sourceleaf AS older
    JOIN version ON older.superseded_by_id = version.id
   WHERE older.workspace_id = %(workspace)s AND older.tree_id = %(tree)s
     AND older.status = 'superseded')
SELECT id, observed_at, valid_until FROM version
"""


@dataclass(frozen=True, slots=True)
class _Version:
    id: UUID
    observed_at: datetime
    valid_until: datetime


def place_in_history(workspace: Workspace, *, leaf: SourceLeaf, newer: SourceLeaf) -> None:
    """Give an unsaved older version its place; inside the caller's step, the tree's row locked.

    The version below it ends where it begins. What is older than the last time that the newer
    one was stated, but not than the first, was never in force: it ends where it begins itself.
    """
    versions = _older_versions(workspace, newest=newer)
    times = [newer.observed_at, *(version.observed_at for version in versions)]
    younger = [time for time in times if time > leaf.observed_at]
    leaf.status = SourceLeaf.Status.SUPERSEDED
    leaf.superseded_by = newer
    leaf.valid_until = min(younger, default=leaf.observed_at)
    if newer.observed_at <= leaf.observed_at:
        return
    overtaken = [
        version.id
        for version in versions
        if version.observed_at <= leaf.observed_at < version.valid_until
    ]
    workspace.leaves.filter(id__in=overtaken).update(valid_until=leaf.observed_at)


def _older_versions(workspace: Workspace, *, newest: SourceLeaf) -> list[_Version]:
    with connection.cursor() as cursor:
        cursor.execute(
            _OLDER_VERSIONS,
            {"workspace": workspace.pk, "tree": newest.tree_id, "newest": newest.id},
        )
        return [_Version(*row) for row in cursor.fetchall()]

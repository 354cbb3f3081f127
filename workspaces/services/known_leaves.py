"""What is known where chunks would go, read for several of one scope in one look each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from holamem.database.prepared import fetch_rows
from workspaces.index.embedding import current_model
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf

MAX_COMPARED = 6
MAX_RIVALS = 100  # a subject with more is compared by its newest


@dataclass(frozen=True, slots=True)
class KnownLeaf:
    """What a comparison needs of a leaf; `distance` by vector, where it was found by that."""

    id: UUID
    body_path: str
    body_sha256: str
    title: str
    subject_key: str
    observed_at: datetime
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk would go, and what it says there."""

    tree_id: UUID
    fingerprint: str
    subject_key: str
    vector: Sequence[float] | None


@dataclass(frozen=True, slots=True)
class KnownThere:
    """Of one place: leaves with its text (id, status, time), rivals, the latest, the nearest."""

    same: list[tuple[UUID, str, datetime]]
    rivals: tuple[UUID, ...]
    keyed: list[KnownLeaf]
    near: list[KnownLeaf]

    def with_this_text(self, *, at: datetime) -> UUID | None:
        """The active leaf, or a re-import: same text, same time, whatever its status."""
        for leaf_id, status, observed_at in self.same:
            if status == SourceLeaf.Status.ACTIVE or observed_at == at:
                return leaf_id
        return None


_WANTED = """
unnest(%(places)s::int[], %(trees)s::uuid[], %(fingerprints)s::text[], %(subjects)s::text[])
    AS wanted (place, tree, fingerprint, subject)
"""
_COLUMNS = "leaf.id, leaf.body_path, leaf.body_sha256, leaf.title, leaf.subject_key"
_SAME = f"""
SELECT wanted.place, leaf.id, leaf.status, leaf.observed_at FROM {_WANTED}
  JOIN workspaces_sourceleaf AS leaf ON leaf.workspace_id = %(workspace)s
   AND leaf.tree_id = wanted.tree AND leaf.fingerprint = wanted.fingerprint
   AND leaf.status NOT IN ('erasing', 'erased')
"""  # noqa: S608 - constants
_RIVALS = f"""
SELECT wanted.place, ARRAY(
         SELECT id FROM workspaces_sourceleaf
          WHERE workspace_id = %(workspace)s AND tree_id = wanted.tree
            AND subject_key = wanted.subject AND status = 'active'
          ORDER BY id DESC LIMIT {MAX_RIVALS})
  FROM {_WANTED} WHERE wanted.subject <> ''
"""  # noqa: S608 - constants
_KEYED = f"""
SELECT wanted.place, leaf.* FROM {_WANTED}
 CROSS JOIN LATERAL (
   SELECT {_COLUMNS}, leaf.observed_at FROM workspaces_sourceleaf AS leaf
    WHERE leaf.workspace_id = %(workspace)s AND leaf.tree_id = wanted.tree
      AND leaf.subject_key = wanted.subject AND leaf.status = 'active'
    ORDER BY leaf.observed_at DESC, leaf.id DESC LIMIT {MAX_COMPARED}) AS leaf
"""  # noqa: S608 - constants
_NEAR = f"""
WITH wanted AS MATERIALIZED (
  SELECT place, tree, vector::halfvec AS vector
    FROM unnest(%(places)s::int[], %(trees)s::uuid[], %(vectors)s::text[])
         AS given (place, tree, vector))
SELECT wanted.place, {_COLUMNS}, leaf.observed_at, near.distance
  FROM wanted
 CROSS JOIN LATERAL (
   SELECT node_id, embedding <=> wanted.vector AS distance FROM workspaces_vectorentry
    WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND kind = 'leaf'
      AND tree_id = wanted.tree AND status = 'active' AND model_id = %(model)s
    ORDER BY distance, node_id LIMIT {MAX_COMPARED}) AS near
  JOIN workspaces_sourceleaf AS leaf ON leaf.workspace_id = %(workspace)s
   AND leaf.id = near.node_id AND leaf.tree_id = wanted.tree AND leaf.status = 'active'
 ORDER BY wanted.place, near.distance, near.node_id
"""  # noqa: S608 - constants


def read_known(
    workspace: Workspace, *, scope_id: UUID, places: Sequence[Place]
) -> list[KnownThere]:
    """By place, in their order."""
    found = [KnownThere([], (), [], []) for _ in places]
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "places": list(range(len(places))),
        "trees": [place.tree_id for place in places],
        "fingerprints": [place.fingerprint for place in places],
        "subjects": [place.subject_key for place in places],
    }
    for index, leaf_id, status, observed_at in fetch_rows(_SAME, values):
        found[index].same.append((leaf_id, status, observed_at))
    for index, *columns in fetch_rows(_KEYED, values):
        found[index].keyed.append(KnownLeaf(*columns))
    rivals = {index: tuple(ids) for index, ids in fetch_rows(_RIVALS, values)}
    _read_near(workspace, scope_id=scope_id, places=places, found=found)
    return [
        KnownThere(known.same, rivals.get(index, ()), known.keyed, known.near)
        for index, known in enumerate(found)
    ]


def _read_near(
    workspace: Workspace, *, scope_id: UUID, places: Sequence[Place], found: Sequence[KnownThere]
) -> None:
    with_vectors: Mapping[int, Place] = {
        index: place for index, place in enumerate(places) if place.vector
    }
    if not with_vectors:
        return
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "scope": scope_id,
        "places": list(with_vectors),
        "trees": [place.tree_id for place in with_vectors.values()],
        "vectors": [HalfVector(list(p.vector or ())).to_text() for p in with_vectors.values()],
        "model": current_model().pk,
    }
    for index, *columns in fetch_rows(_NEAR, values):
        found[index].near.append(KnownLeaf(*columns))

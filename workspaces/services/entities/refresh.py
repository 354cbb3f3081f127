"""Handler of `entity.names`: what is about an entity is found by the names that it has now.

Names belong to the text that search sees, so a change of names writes the lexemes of its leaves
again: in batches, from where the last one ended, whichever worker goes on. A change that comes
meanwhile sets the mark back, and the walk begins anew.
"""

import time
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import Q, QuerySet

from holamem import faults
from holamem.database.scope import workspace_scope
from workspaces.bodies import BodyCorrupt, BodyMissing, read_markdown
from workspaces.index.entries import put_leaf_lexemes
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.entities.resolving import family_ids, search_names
from workspaces.services.indexing import EMBEDDED_LEAVES
from workspaces.services.jobs import ClaimedJob, add_job, require_lease
from workspaces.services.topology import request_seal

BATCH = 64
PASS_SECONDS = 60  # a long walk gives other jobs a turn
START = UUID(int=0)


def request_refresh(workspace: Workspace, *, entities: Sequence[Entity]) -> None:
    """In the step that changes names: their leaves are written again, from the first one on."""
    ids = [entity.id for entity in entities]
    workspace.entities.filter(id__in=ids).update(names_indexed_to=START)
    request_mirror(workspace, entity_ids=ids)
    for entity in entities:
        for topic in (Job.Topic.ENTITY_NAMES, Job.Topic.ENTITY_CHANGED):
            add_job(workspace, topic=topic, target_id=entity.id, scope_id=entity.scope_id)


def request_mirror(workspace: Workspace, *, entity_ids: Sequence[UUID]) -> None:
    """What an entity is stands in the files of its tree as well, which a pass writes."""
    for tree in workspace.trees.filter(entity__in=list(entity_ids)):
        request_seal(workspace, tree=tree)


def refresh_names(workspace: Workspace, job: ClaimedJob) -> None:
    deadline = time.monotonic() + PASS_SECONDS
    while _refresh_batch(workspace, job=job):
        if time.monotonic() > deadline:
            with workspace_scope(workspace, [job.scope_id]):
                add_job(workspace, topic=job.topic, target_id=job.target_id, scope_id=job.scope_id)
            return


def _refresh_batch(workspace: Workspace, *, job: ClaimedJob) -> bool:
    """False when nothing is left. Files are read before the step that locks."""
    with workspace_scope(workspace, [job.scope_id]):
        entity = workspace.entities.filter(id=job.target_id).first()
        if entity is None or entity.names_indexed_to is None:
            return False
        leaves = list(_leaves_of(workspace, entity=entity)[:BATCH])
    texts = _texts(leaves)
    faults.point("names.read")
    with workspace_scope(workspace, [job.scope_id]):
        # Held until the batch commits, so that a change of names comes before it or after it.
        held = workspace.entities.select_for_update(no_key=True).get(id=entity.id)
        if held.names_indexed_to != entity.names_indexed_to:
            return True
        _write(workspace, texts=texts)
        held.names_indexed_to = leaves[-1].id if leaves else None
        held.save(update_fields=["names_indexed_to"])
        require_lease(job)
        faults.point("names.before_commit")
    return bool(leaves)


def _leaves_of(workspace: Workspace, *, entity: Entity) -> QuerySet[SourceLeaf]:
    """What search finds of this entity and of all that became part of it, after the mark."""
    family = family_ids(workspace, entity_id=entity.id)
    mentioning = workspace.leaf_entities.filter(entity__in=family).values("leaf_id")
    return workspace.leaves.filter(
        Q(entity__in=family) | Q(id__in=mentioning),
        id__gt=entity.names_indexed_to,
        status__in=EMBEDDED_LEAVES,
    ).order_by("id")


def _texts(leaves: Sequence[SourceLeaf]) -> dict[UUID, str]:
    """Without those whose body cannot be read: `verify` names them."""
    texts = {}
    for leaf in leaves:
        try:
            texts[leaf.id] = read_markdown(leaf.body_path, sha256=leaf.body_sha256)
        except (BodyMissing, BodyCorrupt):
            continue
    return texts


def _write(workspace: Workspace, *, texts: Mapping[UUID, str]) -> None:
    """Locked, since a leaf that is forgotten meanwhile must not come back into search."""
    rows = workspace.leaves.select_for_update(no_key=True, of=("self",))
    leaves = list(rows.filter(id__in=list(texts), status__in=EMBEDDED_LEAVES).order_by("id"))
    names = search_names(workspace, leaves=leaves)
    for leaf in leaves:
        put_leaf_lexemes(workspace, leaf=leaf, text=texts[leaf.id], entity_names=names[leaf.id])

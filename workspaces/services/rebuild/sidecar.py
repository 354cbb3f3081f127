"""One small file beside the bodies of each tree, and one for each workspace.

They mirror what changes after birth, so that the bodies and these files together give the
topology back without reviving what was forgotten. The database stays the authority: a sidecar
is written after a change, by the pass over its tree, and `verify` compares the two.
"""

import logging
from collections.abc import Mapping, Sequence
from uuid import UUID

import yaml

from holamem.clock import now
from holamem.database.scope import system_scope, workspace_scope
from holamem.database.statements import Statement, run_together
from workspaces.bodies import body_storage, save_bodies
from workspaces.body_paths import scope_directory
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.front_matter import with_checksum
from workspaces.services.rebuild.state import TreeState, tree_states
from workspaces.services.topology import MIRROR_DUE

logger = logging.getLogger(__name__)

FORMAT = 1
TREE_FILE = "tree.yaml"
WORKSPACE_FILE = "workspace.yaml"
ROUNDS = 8  # a tree that changes all the time is written again by its next pass
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def sidecar_path(directory: str) -> str:
    return f"{directory}/{TREE_FILE}"


def workspace_path(*, tenant_slug: str, slug: str) -> str:
    return f"{tenant_slug}/{slug}/{WORKSPACE_FILE}"


def trees_to_mirror(
    workspace: Workspace, *, tree_ids: Sequence[UUID], scope_id: UUID
) -> list[UUID]:
    """Those in which something changed that the sidecar mirrors, or that have none yet."""
    with workspace_scope(workspace, [scope_id]):
        rows = workspace.trees.filter(id__in=tree_ids).order_by("id")
        states = list(rows.values_list("id", "mirrored_state"))
    return [key for key, state in states if state == "" or state.startswith(MIRROR_DUE)]


def mirror_tree(workspace: Workspace, *, tree_id: UUID, scope_id: UUID) -> bool:
    """Write the tree's sidecar if its state changed; whether anything was written."""
    return mirror_trees(workspace, tree_ids=[tree_id], scope_id=scope_id)


def mirror_trees(workspace: Workspace, *, tree_ids: Sequence[UUID], scope_id: UUID) -> bool:
    """The same for several trees of one scope; whether anything was written.

    May run twice at once: each writer reads again after its write, so that the file that stays
    is of the last state.
    """
    behind = list(tree_ids)
    for number in range(ROUNDS):
        states = _write_behind(workspace, tree_ids=behind, scope_id=scope_id)
        if not states:
            return number > 0
        behind = list(states)
    logger.info("sidecar.still_changing", extra={"tree_id": str(behind[0])})
    return True


def _write_behind(
    workspace: Workspace, *, tree_ids: Sequence[UUID], scope_id: UUID
) -> dict[UUID, TreeState]:
    """The files of those that are behind; by tree the state that was written."""
    if not tree_ids:
        return {}
    moment = now()
    with workspace_scope(workspace, [scope_id]):
        found = tree_states(workspace, tree_ids=tree_ids)
        states = {key: state for key, state in found.items() if not state.is_mirrored}
        trees = list(workspace.trees.filter(id__in=list(states)).order_by("id"))
        buffers = _buffers(workspace, tree_ids=list(states))
    if states:
        documents = {
            sidecar_path(scope_directory(workspace, tree=tree)): {
                "format": FORMAT,
                "workspace": str(workspace.pk),
                "written_at": moment.isoformat(),
                **states[tree.id].values,
                "buffer": buffers[tree.id],
                "state_sha256": states[tree.id].digest,
            }
            for tree in trees
        }
        _write(documents)
        mirror_workspace(workspace)
        _mark(workspace, states=states, scope_id=scope_id)
    return states


def _buffers(workspace: Workspace, *, tree_ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    leaves = workspace.leaves.filter(
        tree__in=tree_ids, status=SourceLeaf.Status.ACTIVE, parent=None
    )
    found: dict[UUID, list[str]] = {tree_id: [] for tree_id in tree_ids}
    for tree_id, leaf_id in leaves.order_by("id").values_list("tree_id", "id"):
        found[tree_id].append(str(leaf_id))
    return found


_MARK = """
UPDATE workspaces_tree AS tree SET mirrored_state = written.digest
  FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS written (id, before, digest)
 WHERE tree.workspace_id = %s AND tree.id = written.id AND tree.mirrored_state = written.before
"""


def _mark(workspace: Workspace, *, states: Mapping[UUID, TreeState], scope_id: UUID) -> None:
    """After the files, and only where nothing changed since the state was read."""
    rows = list(states.values())
    values = [
        list(states),
        [state.mirrored for state in rows],
        [state.digest for state in rows],
        workspace.pk,
    ]
    with workspace_scope(workspace, [scope_id]):
        run_together([Statement(_MARK, values)])


def mirror_workspace(workspace: Workspace) -> None:
    """Write the workspace's own file unless it says the same already."""
    for _ in range(ROUNDS):
        path, document = workspace_document(workspace)
        if _render(document) == _stored(path):
            return
        _write({path: document})


def is_workspace_mirrored(workspace: Workspace) -> bool:
    path, document = workspace_document(workspace)
    return _render(document) == _stored(path)


def workspace_document(workspace: Workspace) -> tuple[str, dict[str, object]]:
    """Path and content of the file as it should be now."""
    with system_scope():
        row = Workspace.objects.select_related("tenant").get(id=workspace.pk)
    return workspace_path(tenant_slug=row.tenant.slug, slug=row.slug), _content(row)


def _content(row: Workspace) -> dict[str, object]:
    return {
        "tenant": {
            "id": str(row.tenant_id),
            "slug": row.tenant.slug,
            "name": row.tenant.name,
            "created_at": row.tenant.created_at.isoformat(),
        },
        "workspace": {
            "id": str(row.pk),
            "slug": row.slug,
            "name": row.name,
            "settings": row.settings,
            "created_at": row.created_at.isoformat(),
            "archived_at": row.archived_at.isoformat() if row.archived_at else None,
        },
    }


def _render(document: Mapping[str, object]) -> bytes:
    text = yaml.dump(
        with_checksum(document, markdown=""), Dumper=_Dumper, allow_unicode=True, sort_keys=False
    )
    return str(text).encode()


def _stored(path: str) -> bytes | None:
    try:
        with body_storage().open(path, "rb") as file:
            data: bytes = file.read()
    except FileNotFoundError:
        return None
    return data


def _write(documents: Mapping[str, Mapping[str, object]]) -> None:
    save_bodies({path: _render(document) for path, document in documents.items()})

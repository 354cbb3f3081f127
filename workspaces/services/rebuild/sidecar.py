"""One small file beside the bodies of each tree, and one for each workspace.

They mirror what changes after birth, so that the bodies and these files together give the
topology back without reviving what was forgotten. The database stays the authority: a sidecar
is written after a change, by the pass over its tree, and `verify` compares the two.
"""

import logging
from collections.abc import Mapping
from uuid import UUID

import yaml
from django.core.files.base import ContentFile

from holamem.clock import now
from holamem.database.scope import system_scope, workspace_scope
from workspaces.bodies import body_storage
from workspaces.body_paths import scope_directory
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services.front_matter import with_checksum
from workspaces.services.rebuild.state import TreeState, tree_state
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


def is_mirror_due(workspace: Workspace, *, tree_id: UUID, scope_id: UUID) -> bool:
    """Whether something changed that the sidecar mirrors, or there is none yet."""
    with workspace_scope(workspace, [scope_id]):
        rows = workspace.trees.filter(id=tree_id).values_list("mirrored_state", flat=True)
        mirrored = rows.first()
    return mirrored is not None and (mirrored == "" or mirrored.startswith(MIRROR_DUE))


def mirror_tree(workspace: Workspace, *, tree_id: UUID, scope_id: UUID) -> bool:
    """Write the tree's sidecar if its state changed; whether anything was written.

    May run twice at once: each writer reads again after its write, so that the file that stays
    is of the last state.
    """
    written = False
    for _ in range(ROUNDS):
        moment = now()
        with workspace_scope(workspace, [scope_id]):
            state = tree_state(workspace, tree_id=tree_id)
            if state is None or state.is_mirrored:
                return written
            tree = workspace.trees.get(id=tree_id)
            buffer = _buffer(workspace, tree=tree)
        document = {
            "format": FORMAT,
            "workspace": str(workspace.pk),
            "written_at": moment.isoformat(),
            **state.values,
            "buffer": buffer,
            "state_sha256": state.digest,
        }
        _write(sidecar_path(scope_directory(workspace, tree=tree)), document=document)
        mirror_workspace(workspace)
        _mark(workspace, tree=tree, state=state)
        written = True
    logger.info("sidecar.still_changing", extra={"tree_id": str(tree_id)})
    return written


def _buffer(workspace: Workspace, *, tree: Tree) -> list[str]:
    leaves = workspace.leaves.filter(tree=tree, status=SourceLeaf.Status.ACTIVE, parent=None)
    return [str(leaf_id) for leaf_id in leaves.order_by("id").values_list("id", flat=True)]


def _mark(workspace: Workspace, *, tree: Tree, state: TreeState) -> None:
    """After the file, and only while nothing changed since the state was read."""
    with workspace_scope(workspace, [tree.scope_id]):
        rows = workspace.trees.filter(id=tree.id, mirrored_state=state.mirrored)
        rows.update(mirrored_state=state.digest)


def mirror_workspace(workspace: Workspace) -> None:
    """Write the workspace's own file unless it says the same already."""
    for _ in range(ROUNDS):
        path, document = workspace_document(workspace)
        if _render(document) == _stored(path):
            return
        _write(path, document=document)


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


def _write(path: str, *, document: Mapping[str, object]) -> None:
    body_storage().save(path, ContentFile(_render(document)))

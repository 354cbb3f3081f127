"""Removing the files: of the leaves, of every summary that spoke of them, and of stray copies."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from holamem.database.scope import workspace_scope
from holamem.errors import HolamemError
from workspaces.bodies import body_storage, delete_bodies, read_front_matter, read_markdown
from workspaces.body_paths import scope_directory
from workspaces.models.erasure import Erasure
from workspaces.models.log import Category
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import Tree
from workspaces.services.erasure.cleaners import leaf_ids_of, summary_ids_of, tree_ids_of
from workspaces.services.rebuild.sidecar import sidecar_path

_TREE_FOLDER = re.compile(r"/(?:leaves|summaries)/")


@dataclass(frozen=True, slots=True)
class Sought:
    """What a file must belong to, or be made from, to go. Ids as they stand in front matter."""

    ids: frozenset[str]
    fingerprints: frozenset[str]
    erasure: Erasure


def remove_files(workspace: Workspace, *, erasure: Erasure) -> None:
    """Rows name most of them; copies that a worker left behind are looked for in the folders."""
    sought = _sought(erasure)
    with workspace_scope(workspace, [erasure.scope_id]):
        paths = [*_paths_of_rows(workspace, erasure=erasure), *_given_up(workspace, sought=sought)]
        trees = list(workspace.trees.filter(id__in=tree_ids_of(erasure)))
    delete_bodies(sorted(set(paths)))
    for tree in trees:
        _sweep(workspace, tree=tree, sought=sought)


def _sought(erasure: Erasure) -> Sought:
    ids = [*leaf_ids_of(erasure), *summary_ids_of(erasure)]
    leaves = erasure.tombstones["leaves"]
    return Sought(
        ids=frozenset(map(str, ids)),
        fingerprints=frozenset(leaf["fingerprint"] for leaf in leaves),
        erasure=erasure,
    )


def _paths_of_rows(workspace: Workspace, *, erasure: Erasure) -> list[str]:
    leaves = workspace.leaves.filter(id__in=leaf_ids_of(erasure))
    summaries = workspace.summaries.filter(id__in=summary_ids_of(erasure))
    return [
        *leaves.values_list("body_path", flat=True),
        *summaries.values_list("body_path", flat=True),
    ]


def _given_up(workspace: Workspace, *, sought: Sought) -> list[str]:
    rows = workspace.retired_bodies.filter(scope_id=sought.erasure.scope_id)
    return [path for path in rows.values_list("path", flat=True) if node_of(path) in sought.ids]


def node_of(path: str) -> str:
    """The id in a body's name, also in that of its temporary file."""
    return path.rpartition("/")[2].partition(".")[0]


def _sweep(workspace: Workspace, *, tree: Tree, sought: Sought) -> None:
    directory = scope_directory(workspace, tree=tree)
    with workspace_scope(workspace, [tree.scope_id]):
        known = _ids_of_tree(workspace, tree=tree)
    for path in list(walk(directory)):
        node_id = node_of(path)
        is_stray = node_id not in known and _speaks_of_it(path, sought=sought)
        if node_id in sought.ids or is_stray:
            delete_bodies([path])


def _ids_of_tree(workspace: Workspace, *, tree: Tree) -> set[str]:
    leaves = workspace.leaves.filter(tree=tree).values_list("id", flat=True)
    summaries = workspace.summaries.filter(tree=tree).values_list("id", flat=True)
    return {str(node_id) for node_id in (*leaves, *summaries)}


def _speaks_of_it(path: str, *, sought: Sought) -> bool:
    """A file without a row that was made from the text.

    A summary made from what is erased can never be committed. A leaf with the same words may be
    on its way as a new statement, so that only one written before the request is taken.
    """
    try:
        head = read_front_matter(path)
    except (HolamemError, OSError, ValueError):
        return False  # `verify` names it; it may be another worker's half of a file
    children = head.get("children")
    if isinstance(children, list) and sought.ids.intersection(map(str, children)):
        return True
    is_same = head.get("fingerprint") in sought.fingerprints
    return is_same and _is_older(path, erasure=sought.erasure)


def _is_older(path: str, *, erasure: Erasure) -> bool:
    with suppress(FileNotFoundError):
        return body_storage().get_modified_time(path) < erasure.requested_at
    return False


def remove_everywhere(workspace: Workspace, *, erasure: Erasure) -> None:
    """The same in every folder of the workspace: older files that a restore brought back may lie
    where their subject still had its name.
    """
    sought = _sought(erasure)
    root = f"{workspace.tenant.slug}/{workspace.slug}/memory"
    gone = [path for path in walk(root) if node_of(path) in sought.ids]
    delete_bodies(gone)
    for folder in sorted({_TREE_FOLDER.split(path)[0] for path in gone}):
        if not _is_of_a_tree(workspace, folder=folder, scope_id=erasure.scope_id):
            delete_bodies([sidecar_path(folder)])
            remove_empty_folders([folder])


def _is_of_a_tree(workspace: Workspace, *, folder: str, scope_id: UUID) -> bool:
    """Folders of the integration category are not named by memory, and stay."""
    parent, _, name = folder.rpartition("/")
    if not parent.endswith(f"/{Category.INTERACTION}"):
        return True
    with workspace_scope(workspace, [scope_id]):
        return workspace.trees.filter(key=f"{Category.INTERACTION}:{name}").exists()


def walk(directory: str) -> Iterator[str]:
    """Every file below; nothing when there is no such folder."""
    try:
        directories, names = body_storage().listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        yield f"{directory}/{name}"
    for name in directories:
        yield from walk(f"{directory}/{name}")


def remove_empty_folders(directories: Sequence[str]) -> None:
    """The folders of subjects that were forgotten by name; one that is in use stays."""
    for directory in directories:
        _remove_if_empty(directory)


def _remove_if_empty(directory: str) -> None:
    storage = body_storage()
    with suppress(OSError):
        directories, _ = storage.listdir(directory)
        for name in directories:
            _remove_if_empty(f"{directory}/{name}")
        storage.delete(directory)


def texts_of(workspace: Workspace, *, leaf_ids: Sequence[UUID], scope_id: UUID) -> list[str]:
    """The words of these leaves as far as their files are still there."""
    with workspace_scope(workspace, [scope_id]):
        paths = list(workspace.leaves.filter(id__in=leaf_ids).values_list("body_path", flat=True))
    texts = []
    for path in paths:
        with suppress(HolamemError, OSError):
            texts.append(read_markdown(path))
    return texts

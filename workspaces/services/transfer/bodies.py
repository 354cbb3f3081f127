"""The bodies of an archive, each for its place in the new workspace.

A body names ids in its head, and a summary its children in its text; so it is written anew, with
its checksum, and its row takes the new hash.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from workspaces.bodies import COPIED_TOGETHER, render_body, save_bodies
from workspaces.body_paths import leaf_path, retired_path, summary_path, tree_directory
from workspaces.models.tenancy import EndUser, Workspace
from workspaces.models.trees import (
    GONE_LEAVES,
    LIVE_SUMMARIES,
    SourceLeaf,
    SummaryNode,
    Tree,
)
from workspaces.services.backup.manifest import is_file_place
from workspaces.services.backup.reading import OnProgress, StoredBackup
from workspaces.services.front_matter import CHECKSUM, with_checksum
from workspaces.services.rebuild.documents import Refused, split_body
from workspaces.services.transfer.ids import IdMap
from workspaces.services.transfer.manifest import ArchiveRefused
from workspaces.services.transfer.reading import mapped_rows
from workspaces.services.transfer.tables import ExportTable, Row


@dataclass(slots=True)
class Node:
    """A leaf or a summary; what is new of it is filled in when its body is written anew.

    `children` and `height` are a summary's. A node without a file keeps what its row says.
    """

    id: str
    path: str
    sha256: str
    size: int
    has_file: bool
    children: list[str] = field(default_factory=list)
    child_set_sha256: str = ""
    height: int = 0


@dataclass(slots=True)
class Nodes:
    """By new id, and those that have a file by the path of the archive."""

    by_id: dict[str, Node] = field(default_factory=dict)
    by_old_path: dict[str, Node] = field(default_factory=dict)

    def add(self, node: Node, *, old_path: str) -> None:
        self.by_id[node.id] = node
        if node.has_file and self.by_old_path.setdefault(old_path, node) is not node:
            raise ArchiveRefused("Two rows of the archive name the same file.")


def plan_nodes(archive: StoredBackup, *, workspace: Workspace, ids: IdMap) -> Nodes:
    """Where every node goes. Raises ArchiveRefused."""
    places = _Places(archive, workspace=workspace, ids=ids)
    nodes = Nodes()
    for row in mapped_rows(archive, table=ExportTable(SourceLeaf), ids=ids):
        path = places.checked(leaf_path(places.of_tree(row), leaf_id=UUID(row["id"])))
        has_file = row["status"] not in GONE_LEAVES
        nodes.add(_node(row, path=path, has_file=has_file), old_path=row["body_path"])
    for row in mapped_rows(archive, table=ExportTable(SummaryNode), ids=ids):
        path = places.checked(_summary_place(places.of_tree(row), row))
        node = _node(row, path=path, has_file=row["status"] in LIVE_SUMMARIES)
        node.children, node.height = row["child_ids"], row["height"]
        node.child_set_sha256 = row["child_set_sha256"]
        nodes.add(node, old_path=row["body_path"])
    return nodes


def _summary_place(directory: str, row: Row) -> str:
    summary_id = UUID(row["id"])
    if row["status"] == SummaryNode.Status.RETIRED:
        return retired_path(directory, summary_id=summary_id)
    return summary_path(directory, level=int(row["level"]), summary_id=summary_id)


def _node(row: Row, *, path: str, has_file: bool) -> Node:
    return Node(
        id=row["id"],
        path=path,
        sha256=row["body_sha256"],
        size=row["body_bytes"],
        has_file=has_file,
    )


class _Places:
    """Folders by tree, derived from rows that a stranger may have written."""

    def __init__(self, archive: StoredBackup, *, workspace: Workspace, ids: IdMap) -> None:
        users = mapped_rows(archive, table=ExportTable(EndUser), ids=ids)
        slugs = {row["id"]: str(row["slug"]) for row in users}
        self._below = f"{workspace.tenant.slug}/{workspace.slug}/memory/"
        self._folders = {
            row["id"]: tree_directory(
                workspace, tree=_tree(row), user_slug=slugs.get(row["scope_id"])
            )
            for row in mapped_rows(archive, table=ExportTable(Tree), ids=ids)
        }

    def of_tree(self, row: Row) -> str:
        folder = self._folders.get(row["tree_id"])
        if folder is None:
            raise ArchiveRefused("A node of the archive has no tree.")
        return folder

    def checked(self, path: str) -> str:
        if not path.startswith(self._below) or not is_file_place(path):
            raise ArchiveRefused("A node of the archive would lie where none may.")
        return path


def _tree(row: Row) -> Tree:
    names = ("category", "key", "provider", "account")
    return Tree(id=UUID(row["id"]), **{name: str(row[name]) for name in names})


def write_bodies(
    archive: StoredBackup, *, nodes: Nodes, ids: IdMap, on_progress: OnProgress
) -> Iterator[list[str]]:
    """Leaves as they come, then summaries from below; yields paths before they are written.

    Raises ArchiveRefused, StorageRefused.
    """
    waiting: dict[str, bytes] = {}
    summaries: list[tuple[Node, bytes]] = []
    total, done = len(nodes.by_old_path), 0
    for node, data in _matched(archive, nodes=nodes):
        if node.children:
            summaries.append((node, data))
            continue
        waiting[node.path] = _renewed(node, data, nodes=nodes, ids=ids)
        if len(waiting) == COPIED_TOGETHER:
            yield from _saved(waiting)
            done += COPIED_TOGETHER
            on_progress("bodies", done, total)
    for node, data in sorted(summaries, key=lambda item: item[0].height):
        waiting[node.path] = _renewed(node, data, nodes=nodes, ids=ids)
        if len(waiting) == COPIED_TOGETHER:
            yield from _saved(waiting)
    yield from _saved(waiting)
    on_progress("bodies", total, total)


def _saved(waiting: dict[str, bytes]) -> Iterator[list[str]]:
    if waiting:
        yield list(waiting)
        save_bodies(waiting)
        waiting.clear()


def _matched(archive: StoredBackup, *, nodes: Nodes) -> Iterator[tuple[Node, bytes]]:
    """Every file with its row. Raises ArchiveRefused for one that lacks the other."""
    left = dict(nodes.by_old_path)
    for file, data in archive.files():
        node = left.pop(file.path, None)
        if node is None:
            raise ArchiveRefused("The archive holds a file that no row names.")
        if file.sha256 != node.sha256 or file.size != node.size:
            raise ArchiveRefused("A file of the archive is not what its row says.")
        yield node, data
    if left:
        raise ArchiveRefused("The archive lacks a file that a row names.")


def _renewed(node: Node, data: bytes, *, nodes: Nodes, ids: IdMap) -> bytes:
    """The body with the ids of its new place; notes hash and size on the node."""
    try:
        head, markdown = split_body(data)
    except Refused as error:
        raise ArchiveRefused(f"A body of the archive is none: {error}.") from error
    mapped: Mapping[str, object] = ids.document({k: v for k, v in head.items() if k != CHECKSUM})
    if node.children:
        node.child_set_sha256 = _child_set(node, nodes=nodes)
        mapped = {**mapped, "child_set_sha256": node.child_set_sha256}
        markdown = ids.citations(markdown)
    renewed = render_body(with_checksum(mapped, markdown=markdown), markdown)
    node.sha256, node.size = hashlib.sha256(renewed).hexdigest(), len(renewed)
    return renewed


def _child_set(node: Node, *, nodes: Nodes) -> str:
    """As `child_set_sha256` of the summaries makes it; heights make sure that children come first."""
    children = [nodes.by_id.get(child) for child in node.children]
    lines = sorted(f"{child.id}:{child.sha256}" for child in children if child is not None)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()

"""What lies on disk for one tree: its sidecar, its leaves and summaries, and what cannot be read.

Every file is checked on its own: plain, small, unchanged since it was written, of this
workspace and this tree, and named by its own id.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import UUID

from holamem.errors import HolamemError
from holamem.text.normalise import fingerprint
from workspaces.bodies import body_storage
from workspaces.body_paths import leaf_path
from workspaces.services.rebuild.documents import (
    BODY_BYTES_MAX,
    Refused,
    check_sum,
    load_mapping,
    read_plain,
    split_body,
)
from workspaces.services.rebuild.heads import (
    Head,
    LeafHead,
    NodeHead,
    Sidecar,
    SummaryHead,
    WorkspaceFile,
    read_head,
)
from workspaces.services.rebuild.sidecar import sidecar_path, workspace_path

SIDECAR_BYTES_MAX = 64 * 1024 * 1024
_NAME = re.compile(r"\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.md\Z")
_LEVEL = re.compile(r"\AL[1-9][0-9]{0,3}\Z")
RETIRED = "retired"
T = TypeVar("T", bound=Head)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Problem:
    """A file or an id that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FoundLeaf:
    """`size` in bytes; `sha256` over the whole file."""

    head: LeafHead
    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class FoundSummary:
    """`paths`: the same bytes may lie at two levels, or among the retired as well."""

    head: SummaryHead
    paths: tuple[str, ...]
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class FoundTree:
    """`sidecar` None: there is none that can be read."""

    directory: str
    sidecar: Sidecar | None
    leaves: dict[UUID, FoundLeaf] = field(default_factory=dict)
    summaries: dict[UUID, FoundSummary] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def read_document(path: str, *, kind: type[T]) -> T:
    """A sidecar. Raises Refused, also for one that is missing."""
    try:
        values = load_mapping(read_plain(path, max_bytes=SIDECAR_BYTES_MAX))
    except (HolamemError, OSError) as error:
        raise Refused("it is missing or cannot be read") from error
    check_sum(values)
    return read_head(kind, values)


def read_workspace_file(*, tenant_slug: str, slug: str) -> WorkspaceFile:
    """Raises Refused."""
    found = read_document(workspace_path(tenant_slug=tenant_slug, slug=slug), kind=WorkspaceFile)
    if (found.tenant.slug, found.workspace.slug) != (tenant_slug, slug):
        raise Refused("it is the file of another workspace")
    return found


def tree_directories(base: str) -> list[str]:
    """Folders of trees below `<tenant>/<workspace>/memory`, the shared ones first."""
    found = [f"{base}/{category}" for category in ("interaction", "integration")]
    found += [
        f"{user}/{category}"
        for user in sub_directories(f"{base}/users")
        for category in ("interaction", "integration")
    ]
    return [directory for parent in found for directory in sub_directories(parent)]


def sub_directories(path: str) -> list[str]:
    return [f"{path}/{name}" for name in sorted(_listing(path)[0])]


def _listing(path: str) -> tuple[list[str], list[str]]:
    try:
        return body_storage().listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return [], []


def read_tree(directory: str, *, workspace_id: UUID) -> FoundTree:
    """Everything that can be read; what cannot is named in `problems`."""
    problems: list[Problem] = []
    sidecar = _read_sidecar(directory, workspace_id=workspace_id, problems=problems)
    leaves: dict[UUID, FoundLeaf] = {}
    for path in _bodies(f"{directory}/leaves"):
        leaf = _guarded(path, read=_read_leaf, problems=problems)
        if leaf is not None and _belongs(leaf.head, path, workspace_id, sidecar, problems):
            leaves[leaf.head.id] = leaf
    summaries: dict[UUID, FoundSummary] = {}
    for path in _summary_files(f"{directory}/summaries"):
        node = _guarded(path, read=_read_summary, problems=problems)
        if node is not None and _belongs(node.head, path, workspace_id, sidecar, problems):
            _add_summary(summaries, node=node, problems=problems)
    return FoundTree(directory, sidecar, leaves, summaries, tuple(problems))


def _read_sidecar(directory: str, *, workspace_id: UUID, problems: list[Problem]) -> Sidecar | None:
    path = sidecar_path(directory)
    sidecar = _guarded(path, read=lambda at: read_document(at, kind=Sidecar), problems=problems)
    if sidecar is None or sidecar.workspace == workspace_id:
        return sidecar
    problems.append(Problem(path, "it is of another workspace"))
    return None


def _guarded(path: str, *, read: Callable[[str], R], problems: list[Problem]) -> R | None:
    try:
        return read(path)
    except Refused as error:
        problems.append(Problem(path, str(error)))
    except (HolamemError, OSError):
        problems.append(Problem(path, "it cannot be read"))
    return None


def _bodies(directory: str) -> Iterator[str]:
    """In order of id. Temporary files and whatever else lies there are no bodies."""
    for name in sorted(_listing(directory)[1]):
        if _NAME.match(name):
            yield f"{directory}/{name}"


def _summary_files(directory: str) -> Iterator[str]:
    """Those that are in force before the retired."""
    names = [name for name in sorted(_listing(directory)[0]) if _LEVEL.match(name)]
    for name in (*names, RETIRED):
        yield from _bodies(f"{directory}/{name}")


def _read_leaf(path: str) -> FoundLeaf:
    data = read_plain(path, max_bytes=BODY_BYTES_MAX)
    values, markdown = split_body(data)
    head = read_head(LeafHead, values)
    if fingerprint(markdown) != head.fingerprint:
        raise Refused("its text is not the one that it names")
    if path != leaf_path(path.rsplit("/leaves/", 1)[0], leaf_id=head.id):
        raise Refused("its name is not its id")
    return FoundLeaf(head, path, hashlib.sha256(data).hexdigest(), len(data))


def _read_summary(path: str) -> FoundSummary:
    data = read_plain(path, max_bytes=BODY_BYTES_MAX)
    values, _ = split_body(data)
    head = read_head(SummaryHead, values)
    if path.rsplit("/", 1)[1] != f"{head.id}.md":
        raise Refused("its name is not its id")
    return FoundSummary(head, (path,), hashlib.sha256(data).hexdigest(), len(data))


def _belongs(
    head: NodeHead,
    path: str,
    workspace_id: UUID,
    sidecar: Sidecar | None,
    problems: list[Problem],
) -> bool:
    """A file of another workspace or tree is never taken in, whatever folder it lies in."""
    is_here = head.workspace == workspace_id
    if is_here and sidecar is not None:
        tree = sidecar.tree
        own = (head.tree_id, head.tree, head.category, head.scope)
        is_here = own == (tree.id, tree.key, tree.category, tree.scope)
    if not is_here:
        problems.append(Problem(path, "it is of another workspace or tree"))
    return is_here


def _add_summary(
    summaries: dict[UUID, FoundSummary], *, node: FoundSummary, problems: list[Problem]
) -> None:
    known = summaries.get(node.head.id)
    if known is None:
        summaries[node.head.id] = node
    elif known.sha256 == node.sha256:
        summaries[node.head.id] = replace(known, paths=(*known.paths, *node.paths))
    else:
        problems.append(Problem(node.paths[0], "another file with its id says something else"))

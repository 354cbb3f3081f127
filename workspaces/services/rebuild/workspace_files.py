"""Workspaces as they lie on disk, and the file that names each."""

from collections.abc import Sequence
from dataclasses import dataclass

from holamem.clock import now
from holamem.errors import InvalidInput, NotFound
from holamem.ids import new_id
from workspaces.services.rebuild.documents import Refused
from workspaces.services.rebuild.found import (
    Problem,
    read_document,
    read_workspace_file,
    sub_directories,
)
from workspaces.services.rebuild.heads import (
    Sidecar,
    TenantHead,
    WorkspaceFile,
    WorkspaceHead,
)
from workspaces.services.rebuild.sidecar import sidecar_path, workspace_path


@dataclass(frozen=True, slots=True)
class Source:
    """A workspace that lies on disk."""

    tenant: str
    slug: str

    @property
    def base(self) -> str:
        return f"{self.tenant}/{self.slug}/memory"


def find_sources(*, tenant: str | None = None, slug: str | None = None) -> list[Source]:
    """Workspaces below the bodies root, by name. Raises NotFound for none."""
    found = [
        Source(*path.split("/"))
        for parent in sub_directories("")
        for path in sub_directories(parent.strip("/"))
    ]
    chosen = [
        source
        for source in found
        if tenant in (None, source.tenant) and slug in (None, source.slug)
    ]
    if not chosen:
        raise NotFound("No bodies of such a workspace are there.")
    return chosen


def workspace_file(
    source: Source, *, directories: Sequence[str], problems: list[Problem]
) -> WorkspaceFile:
    """Without a readable file the trees still name the workspace; its settings are the defaults.

    Raises InvalidInput when no tree does.
    """
    try:
        return read_workspace_file(tenant_slug=source.tenant, slug=source.slug)
    except Refused as error:
        path = workspace_path(tenant_slug=source.tenant, slug=source.slug)
        problems.append(Problem(path, f"{error}: names and settings are the defaults"))
    for directory in directories:
        try:
            sidecar = read_document(sidecar_path(directory), kind=Sidecar)
        except Refused:
            continue
        return _default_file(source, sidecar=sidecar)
    raise InvalidInput("Nothing that can be read names this workspace.")


def _default_file(source: Source, *, sidecar: Sidecar) -> WorkspaceFile:
    moment = now()
    return WorkspaceFile(
        tenant=TenantHead(id=new_id(), slug=source.tenant, name=source.tenant, created_at=moment),
        workspace=WorkspaceHead(
            id=sidecar.workspace,
            slug=source.slug,
            name=source.slug,
            settings={},
            created_at=sidecar.tree.created_at,
            archived_at=None,
        ),
    )

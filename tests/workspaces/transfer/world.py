"""A workspace with something of everything, and moving it."""

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.ids import new_id
from tests.workspaces.corrections import correct, forget
from tests.workspaces.erasing import erased, leaf_of
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.services.transfer.loading import Imported, import_archive
from workspaces.services.transfer.making import export_workspace
from workspaces.verify.run import broken_codes

MONDAY = "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00."
TUESDAY = "The deployment window of the Atlas gateway is now Tuesday from 10:00 to 12:00."
ERASED = "zanzibar-4711"
PRIVATE = "北京办公室的打印机在三楼走廊尽头。"


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def full_workspace() -> Workspace:
    """Levels of summaries, leaves that were superseded, corrected, forgotten and erased, an end
    user, and a document.
    """
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
    workspace = create_workspace(
        tenant, slug="source", name="Source", settings={"seal_threshold": 2}
    )
    remember(
        workspace,
        *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:4])],
        draft(MONDAY, minutes=20),
        draft("Pavel Orlov prefers tea to coffee.", minutes=21),
        draft(PRIVATE, minutes=22, user_id="u-1"),
        draft(
            "# Runbook\n\nRestart the Atlas gateway with `systemctl restart atlas`.",
            minutes=23,
            kind="document_revision",
            category="integration",
            provider="folder",
            account="docs/ops",
            external_id="runbook.md",
        ),
    )
    remember(workspace, draft(TUESDAY, minutes=60))
    wrong, gone, taken = (
        leaf_of(result)
        for result in remember(
            workspace,
            draft("Maya Okafor owns the billing service.", minutes=70),
            draft("Maya Okafor's locker is number 17.", minutes=71),
            draft(f"Maya Okafor's telephone number is {ERASED}.", minutes=72),
        )
    )
    correct(workspace, wrong, "Maya Okafor owns the invoicing service.")
    forget(workspace, gone)
    erased(workspace, taken)
    drain(workspace)
    return workspace


def empty_workspace(slug: str = "target") -> Workspace:
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="Another tenant")
    return create_workspace(tenant, slug=slug, name="Target")


def exported(workspace: Workspace, folder: Path) -> Path:
    path = folder / f"{uuid4().hex}.zip"
    export_workspace(workspace, path=path, on_progress=silent)
    return path


def imported(workspace: Workspace, path: Path, *, seed: UUID | None = None) -> Imported:
    return import_archive(
        workspace,
        path=path,
        seed=seed or new_id(),
        verify=broken_codes,
        in_step=lambda: None,
        on_progress=silent,
    )


def counted(workspace: Workspace) -> dict[str, Any]:
    """Rows by kind and status."""
    with workspace_scope(workspace, ALL_SCOPES):
        return {
            "leaves": sorted(workspace.leaves.values_list("status", "title", "observed_at")),
            "summaries": sorted(workspace.summaries.values_list("status", "height", "title")),
            "events": sorted(workspace.events.values_list("status", "payload_text")),
            "entities": sorted(workspace.entities.values_list("slug", "type")),
            "users": sorted(workspace.end_users.values_list("ref", "slug")),
            "vectors": workspace.vector_entries.count(),
            "lexemes": workspace.lexeme_entries.count(),
        }

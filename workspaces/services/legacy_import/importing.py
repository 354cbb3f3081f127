"""A folder of MEMORY.md and shard files becomes events, once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import HolamemError, InvalidInput
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import (
    EventDraft,
    prepare_draft,
    receive_events,
    text_digest,
)
from workspaces.services.legacy_import.drafts import Naming, drafts_of
from workspaces.services.legacy_import.files import legacy_paths, read_legacy_file
from workspaces.services.operators import operator_principal
from workspaces.services.principals import Principal
from workspaces.services.rebuild.documents import Refused

SOURCE = "legacy"
BATCH = 100
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SectionLine:
    """One section as it was, or would be, imported. `outcome`: new, known or changed."""

    external_id: str
    kind: str
    occurred_at: datetime
    characters: int
    outcome: str


@dataclass(slots=True)
class LegacyImport:
    """`changed` sections were imported before with another text and are left as they are.

    `refused` names a file or a section, with the reason.
    """

    files: int = 0
    new: int = 0
    known: int = 0
    changed: int = 0
    sections: list[SectionLine] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)


def import_folder(
    workspace: Workspace,
    *,
    folder: Path,
    user_id: str | None = None,
    source: str = SOURCE,
    dry_run: bool = False,
    on_file: Progress = lambda done, total: None,
) -> LegacyImport:
    """One event for each section that is not known yet. Raises InvalidInput for what is no folder.

    A run that stopped goes on where it was, and a second one adds nothing.
    """
    if not folder.is_dir():
        raise InvalidInput("This is not a folder.", field="folder")
    report = LegacyImport()
    paths = legacy_paths(folder)
    principal = operator_principal(workspace, label="import_legacy")
    naming = Naming(source=source, user_id=user_id)
    for number, path in enumerate(paths, 1):
        drafts = _drafts(workspace, folder=folder, path=path, naming=naming, report=report)
        for batch in _batches(drafts):
            _import_batch(
                workspace, drafts=batch, principal=principal, report=report, dry_run=dry_run
            )
        on_file(number, len(paths))
    return report


def _drafts(
    workspace: Workspace, *, folder: Path, path: str, naming: Naming, report: LegacyImport
) -> list[EventDraft]:
    try:
        file = read_legacy_file(folder, path=path)
    except Refused as error:
        report.refused.append((path, str(error)))
        return []
    report.files += 1
    zone = workspace.preferences.zone
    return list(drafts_of(file, naming=naming, zone=zone, now=now()))


def _batches(drafts: Sequence[EventDraft]) -> Iterator[Sequence[EventDraft]]:
    for start in range(0, len(drafts), BATCH):
        yield drafts[start : start + BATCH]


def _import_batch(
    workspace: Workspace,
    *,
    drafts: Sequence[EventDraft],
    principal: Principal,
    report: LegacyImport,
    dry_run: bool,
) -> None:
    """Each is checked on its own first, so that one that cannot be stored stops no other."""
    prepared = _prepared(workspace, drafts=drafts, principal=principal, report=report)
    known = _known_digests(workspace, drafts=[checked for _, checked in prepared])
    wanted = []
    for draft, checked in prepared:
        digest = known.get(checked.external_id)
        if digest is None:
            wanted.append(draft)
        outcome = "new" if digest is None else _compared(draft, digest=digest)
        _count(report, draft=draft, outcome=outcome)
    if wanted and not dry_run:
        receive_events(workspace, drafts=wanted, principal=principal)


def _prepared(
    workspace: Workspace,
    *,
    drafts: Sequence[EventDraft],
    principal: Principal,
    report: LegacyImport,
) -> list[tuple[EventDraft, EventDraft]]:
    """Each draft with the form in which it would be stored."""
    pairs = []
    for draft in drafts:
        try:
            checked = prepare_draft(workspace, draft=draft, principal=principal, index=0)
        except HolamemError as error:
            report.refused.append((draft.external_id, error.message))
        else:
            pairs.append((draft, checked))
    return pairs


def _known_digests(workspace: Workspace, *, drafts: Sequence[EventDraft]) -> dict[str, str]:
    if not drafts:
        return {}
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.events.filter(
            source=drafts[0].source,
            external_id__in=[draft.external_id for draft in drafts],
            category=drafts[0].category,
        )
        return dict(rows.values_list("external_id", "text_sha256"))


def _compared(draft: EventDraft, *, digest: str) -> str:
    return "known" if text_digest(draft.text) == digest else "changed"


def _count(report: LegacyImport, *, draft: EventDraft, outcome: str) -> None:
    setattr(report, outcome, getattr(report, outcome) + 1)
    if draft.occurred_at is not None:
        report.sections.append(
            SectionLine(draft.external_id, draft.kind, draft.occurred_at, len(draft.text), outcome)
        )

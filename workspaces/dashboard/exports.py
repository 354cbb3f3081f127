"""Page: the whole workspace as one archive, made in the background and kept for a day."""

from dataclasses import dataclass
from uuid import UUID

from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from holamem.errors import HolamemError
from workspaces.dashboard.changing import refused, told
from workspaces.dashboard.page import Place, render_page, workspace_action, workspace_page
from workspaces.models.transfers import Transfer
from workspaces.services.transfer.transfers import (
    RUNNING,
    find_transfer,
    kept_archive,
    newest_transfers,
    request_export,
)

ZIP = "application/zip"
SENTENCES = (gettext_noop("Another export of this workspace is under way."),)


@dataclass(frozen=True, slots=True)
class TransferLine:
    """`rows` of all tables; `is_kept` when the archive can be fetched."""

    transfer: Transfer
    rows: int
    files: int
    is_kept: bool

    @classmethod
    def of(cls, transfer: Transfer) -> "TransferLine":
        is_export = transfer.kind == Transfer.Kind.EXPORT
        is_done = transfer.state == Transfer.State.DONE
        return cls(
            transfer,
            sum(transfer.counts.get("rows", {}).values()),
            transfer.counts.get("files", 0),
            is_export and is_done and bool(transfer.archive_path),
        )


@workspace_page
def export_list(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    found = newest_transfers(place.workspace)
    return render_page(
        request,
        "dashboard/exports.html",
        place,
        section="settings",
        tab="exports",
        lines=[TransferLine.of(transfer) for transfer in found],
        is_moving=any(transfer.state in RUNNING for transfer in found),
    )


@workspace_action
def export_create(request: HttpRequest, place: Place) -> HttpResponse:
    place.require_admin()
    try:
        request_export(place.workspace, principal=place.principal)
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, _("The export is queued. It shows up below when it is made."), audit_id=None)
    return redirect(place.address("dashboard_exports"))


@workspace_page
def export_archive(request: HttpRequest, place: Place, export_id: UUID) -> FileResponse:
    """Not found before it is made, and when it is no longer kept."""
    place.require_admin()
    found = find_transfer(place.workspace, kind=Transfer.Kind.EXPORT, transfer_id=export_id)
    with kept_archive(place.workspace, transfer=found) as path:
        file = path.open("rb")
    name = f"{place.workspace.slug}-{found.created_at:%Y%m%dT%H%M%SZ}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type=ZIP)

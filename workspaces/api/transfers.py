"""A whole workspace as one archive: asked for, fetched, and sent to be imported."""

from collections.abc import Iterator
from typing import IO, Any
from uuid import UUID

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import FileResponse, HttpRequest
from django.http.multipartparser import MultiPartParserError
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.environment import get_environment
from holamem.errors import PayloadTooLarge
from holamem.http.fields import StrictChoiceField, choices
from holamem.http.openapi import operation
from holamem.http.problems import refuse
from workspaces.api.base import WorkspaceView
from workspaces.api.permissions import ADMIN
from workspaces.models.transfers import Transfer
from workspaces.services.transfer.transfers import (
    find_transfer,
    kept_archive,
    request_export,
    request_import,
)

ZIP, FORM = "application/zip", "multipart/form-data"
FIELD = "archive"
READ_BYTES = 1024 * 1024
ARCHIVE_SHAPE = {
    ZIP: OpenApiTypes.BINARY,
    FORM: {
        "type": "object",
        "properties": {FIELD: {"type": "string", "format": "binary"}},
        "required": [FIELD],
        "additionalProperties": False,
    },
}


class ProgressSerializer(serializers.Serializer[Any]):
    what = serializers.CharField(help_text="tables, bodies, …")
    done = serializers.IntegerField()
    total = serializers.IntegerField()


class TransferSerializer(serializers.Serializer[Any]):
    state = StrictChoiceField(choices=choices(Transfer.State.values))
    progress = ProgressSerializer(allow_null=True, help_text="Null unless it is running.")
    rows = serializers.DictField(child=serializers.IntegerField(), help_text="By table.")
    files = serializers.IntegerField()
    archive_bytes = serializers.IntegerField()
    archive_sha256 = serializers.CharField()
    error = serializers.CharField()
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    def to_representation(self, instance: Transfer) -> dict[str, Any]:
        plain = {str(name): getattr(instance, str(name), None) for name in self.fields}
        return plain | self.told_otherwise(instance)

    def told_otherwise(self, row: Transfer) -> dict[str, Any]:
        return {
            "progress": row.progress or None,
            "rows": row.counts.get("rows", {}),
            "files": row.counts.get("files", 0),
        }


class WorkspaceExportSerializer(TransferSerializer):
    export_id = serializers.UUIDField()
    is_kept = serializers.BooleanField(help_text="The archive can be fetched.")

    def told_otherwise(self, row: Transfer) -> dict[str, Any]:
        is_kept = bool(row.archive_path) and row.state == Transfer.State.DONE
        return {**super().told_otherwise(row), "export_id": row.id, "is_kept": is_kept}


class ImportSerializer(TransferSerializer):
    import_id = serializers.UUIDField()
    kept_ids = serializers.BooleanField(
        allow_null=True, help_text="Ids are those of the archive; null before it is done."
    )

    def told_otherwise(self, row: Transfer) -> dict[str, Any]:
        kept = row.counts.get("kept_ids")
        return {**super().told_otherwise(row), "import_id": row.id, "kept_ids": kept}


class ExportRequestView(WorkspaceView):
    permissions = {"POST": ADMIN}

    @operation(
        "transfers_export",
        summary="Export the workspace",
        answers={202: WorkspaceExportSerializer},
        problems=(404, 409),
    )
    def post(self, request: Request, ws: str) -> Response:
        """All of it as one archive: events, memory with its bodies and vectors, gaps, end users,
        corrections, connectors, and what agents keep. Keys, webhooks and secrets are not in it.

        A worker makes it; it can be fetched for a day, unless memory is erased before.
        """
        self.read_no_body(request)
        transfer = request_export(self.workspace, principal=self.principal)
        return Response(WorkspaceExportSerializer(transfer).data, status=202)


class ExportView(WorkspaceView):
    permissions = {"GET": ADMIN}

    @operation(
        "transfers_get_export",
        summary="How far an export is",
        answers={200: WorkspaceExportSerializer},
    )
    def get(self, request: Request, ws: str, export_id: UUID) -> Response:
        """Its state, and what is in the archive when it is done."""
        found = find_transfer(self.workspace, kind=Transfer.Kind.EXPORT, transfer_id=export_id)
        return Response(WorkspaceExportSerializer(found).data)


class ExportArchiveView(WorkspaceView):
    permissions = {"GET": ADMIN}

    @operation(
        "transfers_fetch_export",
        summary="Fetch an archive",
        answers={(200, ZIP): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, ws: str, export_id: UUID) -> FileResponse:
        """The archive itself. 404 before it is made, and when it is no longer kept."""
        found = find_transfer(self.workspace, kind=Transfer.Kind.EXPORT, transfer_id=export_id)
        with kept_archive(self.workspace, transfer=found) as path:
            file = path.open("rb")
        name = f"{self.workspace.slug}-{found.created_at:%Y%m%dT%H%M%SZ}.zip"
        return FileResponse(file, as_attachment=True, filename=name, content_type=ZIP)


class ImportRequestView(WorkspaceView):
    claims_late = True
    permissions = {"POST": ADMIN}

    @operation(
        "transfers_import",
        summary="Import an archive",
        answers={202: ImportSerializer},
        problems=(404, 409, 413, 415, 507),
        request=ARCHIVE_SHAPE,
    )
    def post(self, request: Request, ws: str) -> Response:
        """Into this workspace, which must hold nothing yet: all of it or nothing.

        The body is the archive (`application/zip`), or a form with the file `archive`. Answers
        are then those of the exported workspace. Ids stay, unless they are taken here.
        """
        transfer = request_import(
            self.workspace,
            principal=self.principal,
            content=sent_archive(request._request),
            on_received=lambda sha256: self.claim_upload(request, sha256=sha256),
        )
        return Response(ImportSerializer(transfer).data, status=202)


class ImportView(WorkspaceView):
    permissions = {"GET": ADMIN}

    @operation(
        "transfers_get_import", summary="How far an import is", answers={200: ImportSerializer}
    )
    def get(self, request: Request, ws: str, import_id: UUID) -> Response:
        """Its state, and why it was refused, if it was."""
        found = find_transfer(self.workspace, kind=Transfer.Kind.IMPORT, transfer_id=import_id)
        return Response(ImportSerializer(found).data)


def sent_archive(request: HttpRequest) -> Iterator[bytes]:
    """The bytes as they come. Raises RequestRefused, UnsupportedMediaType, PayloadTooLarge."""
    if request.META.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
        raise refuse("unsupported_encoding", "A compressed body is not accepted.", status=415)
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if declared.isdecimal() and int(declared[:20]) > get_environment().import_max_bytes:
        raise PayloadTooLarge("The archive is too large; `manage.py import` takes larger ones.")
    if request.content_type == ZIP:
        return _chunks(request)
    if request.content_type == FORM:
        return _chunks(_file_of(request))
    raise UnsupportedMediaType(request.content_type or "")


def _chunks(stream: IO[bytes] | HttpRequest) -> Iterator[bytes]:
    while chunk := stream.read(READ_BYTES):
        yield chunk


def _file_of(request: HttpRequest) -> Any:
    try:
        files, values = request.FILES, request.POST
    except (BadRequest, SuspiciousOperation, MultiPartParserError) as error:
        raise refuse("invalid_form", "The form cannot be read.") from error
    if set(values) or set(files) != {FIELD} or len(files.getlist(FIELD)) != 1:
        raise refuse("invalid_form", f"The form has one file, {FIELD}.", field=FIELD)
    return files[FIELD]

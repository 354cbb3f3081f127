"""Export a workspace while it is used: all of it as it was at one moment, in one file."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from pgvector import HalfVector

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, reading_scope, workspace_scope
from holamem.errors import Conflict
from holamem.version import VERSION
from workspaces.models.index import EmbeddingModel
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import GONE_LEAVES, LIVE_SUMMARIES
from workspaces.services.backup.collecting import OnProgress, copy_bodies
from workspaces.services.backup.manifest import TABLE_FOLDER, Table
from workspaces.services.backup.snapshot import NamedFile
from workspaces.services.backup.writing import Archive, FileWriter, new_archive
from workspaces.services.transfer.manifest import ExportedFrom
from workspaces.services.transfer.tables import ExportTable, export_tables

ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Exported:
    """`rows` by table; `bytes` of the archive."""

    rows: dict[str, int]
    files: int
    bytes: int


def export_workspace(workspace: Workspace, *, path: Path, on_progress: OnProgress) -> Exported:
    """Into a new file. Raises Conflict when it cannot be now; nothing is left then."""
    taken_at = now()
    with new_archive(path) as archive, tempfile.TemporaryFile() as spool:
        with reading_scope(workspace, ALL_SCOPES):
            _refuse_obstacles(workspace)
            tables = _write_tables(archive, workspace=workspace, on_progress=on_progress)
            vectors = _vector_models(workspace)
            total = _name_files(workspace, spool=spool)
        writer = FileWriter(archive)
        _copy_files(spool, total=total, writer=writer, on_progress=on_progress)
        _refuse_erasures_since(workspace, taken_at=taken_at)
        archive.close(
            ExportedFrom(
                product_version=VERSION,
                taken_at=taken_at.isoformat(),
                migrations=[],
                tables=tables,
                files=writer.files,
                file_bytes=writer.bytes,
                packs=writer.packs,
                members=archive.members,
                problems=[],
                workspace_id=str(workspace.pk),
                slug=workspace.slug,
                name=workspace.name,
                settings=workspace.settings,
                vectors=vectors,
            )
        )
    return Exported({table.name: table.rows for table in tables}, writer.files, path.stat().st_size)


def _refuse_obstacles(workspace: Workspace) -> None:
    for table in export_tables():
        words = table.obstacle(workspace) if table.obstacle is not None else ""
        if words:
            raise Conflict(f"{words} Export again when it has come to its end.")


def _refuse_erasures_since(workspace: Workspace, *, taken_at: datetime) -> None:
    """What was erased meanwhile is in the archive: it must not leave."""
    with workspace_scope(workspace, ALL_SCOPES):
        is_erased = workspace.erasures.filter(requested_at__gte=taken_at).exists()
    if is_erased:
        raise Conflict("Something was erased during the export. Export again.")


def _write_tables(
    archive: Archive, *, workspace: Workspace, on_progress: OnProgress
) -> list[Table]:
    tables, written = export_tables(), []
    for number, table in enumerate(tables, 1):
        counter = _Lines(workspace, table)
        archive.add(TABLE_FOLDER + table.name, counter.lines())
        written.append(Table(name=table.name, columns=table.columns, rows=counter.count))
        on_progress("tables", number, len(tables))
    return written


class _Lines:
    """The rows of a table as lines of JSON; `count` is of those that went by."""

    def __init__(self, workspace: Workspace, table: ExportTable) -> None:
        self.count = 0
        self._rows = table.rows(workspace).values(*table.columns).iterator(ROWS_AT_ONCE)

    def lines(self) -> Iterator[bytes]:
        for row in self._rows:
            self.count += 1
            yield json.dumps(row, default=_plain, ensure_ascii=False).encode() + b"\n"


def _plain(value: object) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    if isinstance(value, HalfVector):
        return value.to_text()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _vector_models(workspace: Workspace) -> dict[str, tuple[str, int]]:
    used = workspace.vector_entries.order_by().values_list("model_id", flat=True).distinct()
    models = EmbeddingModel.objects.filter(id__in=list(used))
    return {str(model.pk): (model.name, model.dimension) for model in models}


def _name_files(workspace: Workspace, *, spool: IO[bytes]) -> int:
    """Inside the snapshot: the bodies that are read, one line for each; returns their number."""
    leaves = workspace.leaves.exclude(status__in=GONE_LEAVES)
    summaries = workspace.summaries.filter(status__in=LIVE_SUMMARIES)
    written = 0
    for kind, rows in (("leaf", leaves), ("summary", summaries)):
        for row in rows.order_by("id").values_list("id", "body_path", "body_sha256").iterator():
            spool.write(json.dumps([f"{kind}:{row[0]}", row[1], row[2]]).encode() + b"\n")
            written += 1
    return written


def _copy_files(
    spool: IO[bytes], *, total: int, writer: FileWriter, on_progress: OnProgress
) -> None:
    spool.seek(0)
    lines = map(json.loads, spool)
    named = (NamedFile(name, path, digest, required=True) for name, path, digest in lines)
    problems = copy_bodies(named, total=total, writer=writer, on_progress=on_progress)
    writer.close()
    if problems:
        raise Conflict(
            f"{len(problems)} bodies are missing or damaged, {problems[0].object} first."
            " `manage.py verify` names them."
        )

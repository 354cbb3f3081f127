"""`manage.py export`: one workspace with all that belongs to it, in one file."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.clock import now
from holamem.errors import HolamemError
from workspaces.management.progress import ProgressBar
from workspaces.services.backup.writing import backup_path
from workspaces.services.operators import find_workspaces
from workspaces.services.transfer.making import export_workspace

EXIT_REFUSED = 2


class Command(BaseCommand):
    help = (
        "Export one workspace into one file: events, memory with its bodies and vectors, gaps, end"
        " users, corrections, connectors, and what agents keep. Keys, webhooks and secrets are not"
        " in it. The file is readable by its owner only. Exit 0: made; 2: refused, nothing is left."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", required=True, help="slug")
        parser.add_argument("--workspace", required=True, help="slug")
        parser.add_argument(
            "--to", type=Path, required=True, help="a folder, or the name of the new file"
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = find_workspaces(tenant=options["tenant"], slug=options["workspace"])[0]
            path = _place(options["to"].resolve(), slug=workspace.slug)
            done = export_workspace(workspace, path=path, on_progress=ProgressBar(self.stderr))
        except (HolamemError, OSError) as error:
            message = error.message if isinstance(error, HolamemError) else str(error)
            raise CommandError(f"Not exported: {message}", returncode=EXIT_REFUSED) from error
        if options["as_json"]:
            self.stdout.write(json.dumps({"path": str(path), **asdict(done)}))
            return
        self.stdout.write(
            f"{path}: {sum(done.rows.values())} rows, {done.files} files, {done.bytes} bytes."
        )


def _place(target: Path, *, slug: str) -> Path:
    """Raises Conflict when it is there already."""
    taken_at = now()
    named = target / f"{slug}-{taken_at:%Y%m%dT%H%M%SZ}.zip" if target.is_dir() else target
    return backup_path(named, taken_at=taken_at)

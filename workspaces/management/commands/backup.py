"""`manage.py backup`: everything of every tenant, as it was at one moment, in one file."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from holamem.errors import HolamemError
from workspaces.management.progress import ProgressBar
from workspaces.services.backup.making import BackupMade, make_backup

EXIT_COMPLETE, EXIT_LACKS_BODIES, EXIT_NOT_MADE = 0, 1, 2


class Command(BaseCommand):
    help = (
        "Back up the database and the bodies of all tenants while the product runs. The file is"
        " readable by its owner only: it holds all memory, and the hashes of keys and passwords."
        " credentials.json, secret.key, sessions and the passwords of the database are not in it."
        " Exit 0: whole; 1: made, but bodies were missing or damaged already, each is named;"
        " 2: not made."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--to", type=Path, required=True, help="a folder, or the name of the new file"
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = make_backup(options["to"], on_progress=ProgressBar(self.stderr))
        except (HolamemError, DatabaseError, OSError) as error:
            self._refuse(error, as_json=options["as_json"])
        if options["as_json"]:
            answer = asdict(made) | {"problems": [row.model_dump() for row in made.problems]}
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
        else:
            self._print_for_people(made)
        sys.exit(EXIT_LACKS_BODIES if made.problems else EXIT_COMPLETE)

    def _refuse(self, error: Exception, *, as_json: bool) -> None:
        message = error.message if isinstance(error, HolamemError) else str(error)
        if as_json:
            self.stdout.write(json.dumps({"path": None, "error": message}, ensure_ascii=False))
        raise CommandError(f"No backup was made: {message}", returncode=EXIT_NOT_MADE) from error

    def _print_for_people(self, made: BackupMade) -> None:
        for problem in made.problems:
            self.stdout.write(f"{problem.reason:10}  {problem.object}\n          {problem.path}")
        self.stdout.write(
            f"{made.path}: {made.rows} rows of {len(made.tables)} tables, {made.files} files,"
            f" {made.erasures} erasures in the journal, {made.bytes} bytes,"
            f" {len(made.problems)} bodies missing or damaged."
        )

"""`manage.py restore`: a backup into an empty installation, erasures erased again, verified."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from holamem.database.alone import AlreadyRunning, only_one
from holamem.environment import get_environment
from holamem.errors import HolamemError
from workspaces.management.progress import ProgressBar
from workspaces.services.backup.restoring import Restored, restore_backup
from workspaces.services.operators import find_workspaces
from workspaces.verify.findings import Finding
from workspaces.verify.run import EXIT_ERRORS, exit_code, verify_installation, verify_workspace

EXIT_REFUSED = 3


class Command(BaseCommand):
    help = (
        "Restore a backup into an empty data directory and database, erase again what was erased"
        " since, and verify. A restore that was cut off is run again: it starts over. Keys that"
        " were revoked since the backup are valid again. Exit 0: restored and clean; 1: verify"
        " has warnings; 2: verify has errors, or an erasure is not complete; 3: not restored."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--from", type=Path, required=True, dest="source", help="the backup")
        parser.add_argument(
            "--journal",
            type=Path,
            help="data directory or bodies of the old installation: its erasures are newer",
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        data_dir = get_environment().data_dir
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            with only_one(data_dir):
                restored = restore_backup(
                    options["source"],
                    journal=options["journal"],
                    on_progress=ProgressBar(self.stderr),
                )
                findings = verify_all()
        except (
            HolamemError, AlreadyRunning, ImproperlyConfigured, DatabaseError, OSError,
        ) as error:  # fmt: skip
            self._refuse(error, as_json=options["as_json"])
        if options["as_json"]:
            self._print_json(restored, findings)
        else:
            self._print_for_people(restored, findings)
        sys.exit(EXIT_ERRORS if restored.erasures_unfinished else exit_code(findings))

    def _refuse(self, error: Exception, *, as_json: bool) -> NoReturn:
        message = _words(error)
        if as_json:
            self.stdout.write(json.dumps({"restored": False, "error": message}, ensure_ascii=False))
        raise CommandError(f"Not restored: {message}", returncode=EXIT_REFUSED) from error

    def _print_json(self, restored: Restored, findings: Sequence[Finding]) -> None:
        answer = {
            "restored": True,
            **asdict(restored),
            "problems": [problem.model_dump() for problem in restored.problems],
            "findings": [asdict(finding) for finding in findings],
        }
        self.stdout.write(json.dumps(answer, ensure_ascii=False))

    def _print_for_people(self, restored: Restored, findings: Sequence[Finding]) -> None:
        for problem in restored.problems:
            self.stdout.write(f"{problem.reason:10}  {problem.object}\n          {problem.path}")
        for finding in findings:
            self.stdout.write(
                f"{finding.severity:8}  {finding.code:4} {finding.object}\n"
                f"          {finding.message}"
            )
        for name in restored.erasures_unfinished:
            self.stdout.write(f"error     {name} is not complete; nothing of it is read")
        self.stdout.write(
            f"Restored as of {restored.taken_at}: {restored.rows} rows, {restored.files} files,"
            f" {restored.jobs_released} jobs taken up again, {restored.erasures_again} erasures"
            f" done again ({restored.erasures_elsewhere} of workspaces that the backup lacks),"
            f" {len(findings)} findings. Keys that were revoked since are valid again."
        )


def verify_all() -> list[Finding]:
    findings = [*verify_installation()]
    for workspace in find_workspaces():
        findings += verify_workspace(workspace)
    return findings


def _words(error: Exception) -> str:
    """A refused statement may quote what people said: only its first line is shown."""
    if isinstance(error, HolamemError):
        return error.message
    if isinstance(error, DatabaseError):
        return str(error).partition("\n")[0]
    return str(error)

"""`manage.py import_legacy`: a folder of MEMORY.md and shard files becomes events."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import HolamemError
from workspaces.management.progress import ProgressBar
from workspaces.services.legacy_import.importing import SOURCE, LegacyImport, import_folder
from workspaces.services.operators import find_workspaces

EXIT_COMPLETE, EXIT_LEFT_OUT, EXIT_REFUSED = 0, 1, 2


class Command(BaseCommand):
    help = (
        "Import a folder of the old layout: MEMORY.md or INDEX.md, topic files and daily notes."
        " One event for each section, vouched for; lines that only point at files and HISTORY"
        " files are no content. A second run adds nothing. Exit 0: all taken in; 1: something was"
        " left out and is named; 2: refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--tenant", required=True, help="slug")
        parser.add_argument("--workspace", required=True, help="slug")
        parser.add_argument("--user-id", help="whose memory it is; without it everybody's")
        parser.add_argument(
            "--source",
            default=SOURCE,
            help="names this folder: give each of several folders with the same file names its own",
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would be imported")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        bar = ProgressBar(self.stderr)
        try:
            workspace = find_workspaces(tenant=options["tenant"], slug=options["workspace"])[0]
            report = import_folder(
                workspace,
                folder=options["folder"],
                user_id=options["user_id"],
                source=options["source"],
                dry_run=options["dry_run"],
                on_file=lambda done, total: bar("files", done, total),
            )
        except HolamemError as error:
            raise CommandError(error.message, returncode=EXIT_REFUSED) from error
        if options["as_json"]:
            answer = {**asdict(report), "dry_run": options["dry_run"]}
            self.stdout.write(json.dumps(answer, ensure_ascii=False, default=str))
        else:
            self._print_for_people(report, dry_run=options["dry_run"])
        sys.exit(EXIT_LEFT_OUT if report.refused or report.changed else EXIT_COMPLETE)

    def _print_for_people(self, report: LegacyImport, *, dry_run: bool) -> None:
        for name, reason in report.refused:
            self.stdout.write(f"left out  {name}\n          {reason}")
        for section in report.sections:
            if dry_run or section.outcome == "changed":
                self.stdout.write(
                    f"{section.outcome:8}  {section.occurred_at:%Y-%m-%d}  {section.kind:20}"
                    f"  {section.external_id}"
                )
        verb = "would be imported" if dry_run else "imported"
        self.stdout.write(
            f"{report.files} files: {report.new} sections {verb}, {report.known} known,"
            f" {report.changed} changed since and left as they were,"
            f" {len(report.refused)} left out."
        )

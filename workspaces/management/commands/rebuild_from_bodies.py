"""`manage.py rebuild_from_bodies`: the memory of an empty database again, from the body files."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import HolamemError
from workspaces.management.progress import ProgressBar
from workspaces.services.rebuild.from_bodies import Rebuilt, rebuild_workspace
from workspaces.services.rebuild.workspace_files import find_sources

EXIT_COMPLETE, EXIT_LEFT_OUT, EXIT_REFUSED = 0, 1, 2


class Command(BaseCommand):
    help = (
        "Rebuild workspaces from the files below the bodies root: trees, leaves, summaries,"
        " entities and end users with their ids. The database is migrated and holds no memory of"
        " them. May be stopped and run again. Exit 0: all came back; 1: files were left out, each"
        " is named; 2: refused. Keys, members, events that became no memory and the audit are not"
        " in the bodies and do not come back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", help="only this tenant (slug)")
        parser.add_argument("--workspace", help="only workspaces with this slug")
        parser.add_argument(
            "--without-sidecars",
            action="store_true",
            help="take in trees whose tree.yaml is lost too: what was forgotten comes back",
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        bar = ProgressBar(self.stderr)
        try:
            reports = [
                rebuild_workspace(
                    source, without_sidecars=options["without_sidecars"], on_progress=bar
                )
                for source in find_sources(tenant=options["tenant"], slug=options["workspace"])
            ]
        except HolamemError as error:
            raise CommandError(error.message, returncode=EXIT_REFUSED) from error
        if options["as_json"]:
            answer = {"workspaces": [asdict(report) for report in reports]}
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
        else:
            self._print_for_people(reports)
        left_out = any(report.problems for report in reports)
        sys.exit(EXIT_LEFT_OUT if left_out else EXIT_COMPLETE)

    def _print_for_people(self, reports: Sequence[Rebuilt]) -> None:
        for report in reports:
            for problem in report.problems:
                self.stdout.write(f"left out  {problem.path}\n          {problem.reason}")
            self.stdout.write(
                f"{report.tenant}/{report.workspace}: {report.trees} trees,"
                f" {report.leaves} leaves, {report.summaries} summaries,"
                f" {report.entities} entities; {report.already} trees were there;"
                f" {len(report.problems)} left out."
            )

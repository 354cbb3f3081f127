"""`manage.py reindex`: rebuild the text index from the bodies."""

import json
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import NotFound
from workspaces.services.operators import find_workspaces
from workspaces.services.reindexing import reindex_workspace


class Command(BaseCommand):
    help = "Write the lexemes of every leaf and summary again. May be stopped and run again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant")
        parser.add_argument("--workspace")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspaces = find_workspaces(tenant=options["tenant"], slug=options["workspace"])
        except NotFound as error:
            raise CommandError(error.message) from error
        total = 0
        for workspace in workspaces:
            total += reindex_workspace(workspace, on_batch=partial(self._say, workspace.slug))
        if options["as_json"]:
            self.stdout.write(json.dumps({"workspaces": len(workspaces), "nodes": total}))
        else:
            self.stdout.write(f"{total} nodes indexed in {len(workspaces)} workspaces.")

    def _say(self, slug: str, count: int) -> None:
        self.stderr.write(f"{slug}: {count}")

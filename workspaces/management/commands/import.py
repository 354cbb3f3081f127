"""`manage.py import`: an exported workspace into an empty one of this installation."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import HolamemError, NotFound
from holamem.ids import new_id
from workspaces.management.progress import ProgressBar
from workspaces.models.tenancy import Workspace
from workspaces.services.audit import record
from workspaces.services.operators import find_tenant, find_workspaces, operator_principal
from workspaces.services.tenants import create_workspace
from workspaces.services.transfer.loading import import_archive
from workspaces.verify.run import broken_codes, exit_code, verify_workspace

EXIT_REFUSED = 3


class Command(BaseCommand):
    help = (
        "Import an archive that `export` or the API made into a workspace that holds nothing, or a"
        " new one: all of it or nothing. Ids stay, unless they are taken here. Exit 0: imported and"
        " clean; 1: verify has warnings; 2: verify has errors; 3: refused, nothing was changed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", required=True, help="slug")
        parser.add_argument("--workspace", required=True, help="slug; it is made where it is new")
        parser.add_argument("--from", type=Path, required=True, dest="source", help="the archive")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = _workspace(options["tenant"], options["workspace"])
            done = import_archive(
                workspace,
                path=options["source"],
                seed=new_id(),
                verify=broken_codes,
                in_step=lambda: _note(workspace),
                on_progress=ProgressBar(self.stderr),
            )
        except (HolamemError, OSError) as error:
            message = error.message if isinstance(error, HolamemError) else str(error)
            raise CommandError(f"Not imported: {message}", returncode=EXIT_REFUSED) from error
        findings = verify_workspace(workspace)
        if options["as_json"]:
            answer = {**asdict(done), "findings": [asdict(finding) for finding in findings]}
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
        else:
            ids = "Ids are those of the archive." if done.kept_ids else "Ids are new."
            self.stdout.write(
                f"{sum(done.rows.values())} rows, {done.files} files, {len(findings)} findings."
                f" {ids} A worker writes the sidecars of its trees."
            )
        sys.exit(exit_code(findings))


def _workspace(tenant: str, slug: str) -> Workspace:
    owner = find_tenant(tenant)
    try:
        return find_workspaces(tenant=tenant, slug=slug)[0]
    except NotFound:
        return create_workspace(owner, slug=slug, name=slug)


def _note(workspace: Workspace) -> None:
    """In the step of the import."""
    operator = operator_principal(workspace, label="command:import")
    record(workspace, principal=operator, action="workspace.imported", target_id=None, detail={})

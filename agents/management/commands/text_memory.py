"""`manage.py text_memory`: the hot layer out of a folder, or into one."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from agents.hot.layout import export_layout, import_layout
from holamem.errors import HolamemError
from workspaces.models.tenancy import Workspace
from workspaces.services.end_user_view import find_end_user
from workspaces.services.operators import find_workspaces, operator_principal

EXIT_REFUSED = 2


class Command(BaseCommand):
    help = (
        "Bring INDEX.md, HISTORY.md and shards/*.md of a folder into text memory, or write them"
        " out of it. HISTORY.md goes to the history only. A second import adds nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["import", "export"])
        parser.add_argument("folder", type=Path)
        parser.add_argument("--tenant", required=True, help="slug")
        parser.add_argument("--workspace", required=True, help="slug")
        parser.add_argument("--user-id", help="whose it is; without it the workspace's")
        parser.add_argument("--dry-run", action="store_true", help="show what would be imported")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = find_workspaces(tenant=options["tenant"], slug=options["workspace"])[0]
            scope_id = _scope(workspace, ref=options["user_id"])
            if options["action"] == "export":
                count = export_layout(workspace, scope_id=scope_id, folder=options["folder"])
                self.stdout.write(f"{count} files were written.")
                return
            self._import(workspace, scope_id=scope_id, options=options)
        except HolamemError as error:
            raise CommandError(error.message, returncode=EXIT_REFUSED) from error

    def _import(self, workspace: Workspace, *, scope_id: UUID, options: dict[str, Any]) -> None:
        report = import_layout(
            workspace,
            scope_id=scope_id,
            folder=options["folder"],
            is_dry_run=options["dry_run"],
        )
        for name, reason in report.refused:
            self.stdout.write(f"left out  {name}\n          {reason}")
        self.stdout.write(
            f"{len(report.saved)} topics saved, {len(report.known)} known,"
            f" {len(report.refused)} left out, {report.history_entries} history entries."
        )


def _scope(workspace: Workspace, *, ref: str | None) -> UUID:
    if ref is None:
        return workspace.pk
    principal = operator_principal(workspace, label="command:text_memory")
    return find_end_user(workspace, principal=principal, ref=ref).id

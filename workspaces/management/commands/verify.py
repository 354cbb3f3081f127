"""`manage.py verify`: does everything that must always hold, hold? Exit 0 clean, 1 warnings, 2 errors."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import NotFound
from workspaces.models.tenancy import Workspace
from workspaces.services.operators import find_workspaces
from workspaces.verify.findings import Finding
from workspaces.verify.repair import repair_workspace
from workspaces.verify.run import (
    EXIT_ERRORS,
    exit_code,
    verify_installation,
    verify_workspace,
)


class Command(BaseCommand):
    help = "Check every invariant of the stored memory, in the database and on disk."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", help="only this tenant (slug)")
        parser.add_argument("--workspace", help="only workspaces with this slug")
        parser.add_argument(
            "--fix", action="store_true", help="remove garbage, queue missing jobs, count again"
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspaces = find_workspaces(tenant=options["tenant"], slug=options["workspace"])
        except NotFound as error:
            raise CommandError(error.message, returncode=EXIT_ERRORS) from error
        findings = [*verify_installation()]
        repaired: list[Finding] = []
        for workspace in workspaces:
            found, mended = check_and_repair(workspace, fix=options["fix"])
            findings += found
            repaired += mended
        if options["as_json"]:
            self._print_json(findings, repaired, count=len(workspaces))
        else:
            self._print_for_people(findings, repaired, count=len(workspaces))
        sys.exit(exit_code(findings))

    def _print_json(
        self, findings: Sequence[Finding], repaired: Sequence[Finding], *, count: int
    ) -> None:
        answer = {
            "workspaces": count,
            "findings": [asdict(finding) for finding in findings],
            "repaired": [asdict(finding) for finding in repaired],
        }
        self.stdout.write(json.dumps(answer, ensure_ascii=False))

    def _print_for_people(
        self, findings: Sequence[Finding], repaired: Sequence[Finding], *, count: int
    ) -> None:
        for finding in findings:
            place = f"{finding.workspace}: " if finding.workspace else ""
            self.stdout.write(
                f"{finding.severity:7}  {finding.code:4} {place}{finding.object}\n"
                f"         {finding.message}\n"
                f"         -> {finding.suggested_repair}"
            )
        self.stdout.write(
            f"{count} workspaces checked, {len(findings)} findings, {len(repaired)} acted on."
        )


def check_and_repair(workspace: Workspace, *, fix: bool) -> tuple[list[Finding], list[Finding]]:
    """What is found now, and what a repair acted on; with a repair, found again after it."""
    findings = verify_workspace(workspace)
    if not fix or not findings:
        return findings, []
    repaired = repair_workspace(workspace, findings=findings)
    return (verify_workspace(workspace) if repaired else findings), repaired

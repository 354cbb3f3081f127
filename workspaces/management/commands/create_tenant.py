"""`manage.py create_tenant`: a tenant, its first workspace and a key for all of it."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import HolamemError
from workspaces.services.tenants import create_tenant_with_key


class Command(BaseCommand):
    help = "Create a tenant with a workspace and an API key that has every permission."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--slug", required=True)
        parser.add_argument("--name", help="shown to people; the slug without it")
        parser.add_argument("--workspace", default="main", help="slug of the first workspace")
        parser.add_argument(
            "--quotas",
            type=json.loads,
            default={},
            help='such as \'{"leaves": 10000, "tokens_per_day": 1000000}\'; also bytes, cost_per_day,'
            " requests_per_second",
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = create_tenant_with_key(
                slug=options["slug"],
                name=options["name"] or options["slug"],
                workspace_slug=options["workspace"],
                quotas=options["quotas"],
            )
        except HolamemError as error:
            raise CommandError(error.message) from error
        if options["as_json"]:
            line = {"tenant": made.tenant, "workspace": made.workspace, "api_key": made.api_key}
            self.stdout.write(json.dumps(line))
            return
        self.stdout.write(f"tenant     {made.tenant}\nworkspace  {made.workspace}")
        self.stdout.write(f"API key    {made.api_key}   (shown this once)")

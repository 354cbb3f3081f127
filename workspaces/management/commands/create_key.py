"""`manage.py create_key`: an API key of a tenant, shown once."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import HolamemError
from workspaces.models.tenancy import ApiKey
from workspaces.services.api_keys import issue_key
from workspaces.services.operators import find_tenant, find_workspaces


class Command(BaseCommand):
    help = "Create an API key for a tenant, or for one of its workspaces."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", required=True, help="slug")
        parser.add_argument("--workspace", help="slug; without it the key is tenant-wide")
        parser.add_argument("--name", default="command line")
        parser.add_argument(
            "--permission",
            action="append",
            choices=ApiKey.Permission.values,
            help="may be repeated; without it every permission",
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["workspace"]
        try:
            tenant = find_tenant(options["tenant"])
            workspace = find_workspaces(tenant=tenant.slug, slug=slug)[0] if slug else None
            issued = issue_key(
                tenant,
                name=options["name"],
                permissions=options["permission"] or list(ApiKey.Permission.values),
                workspace=workspace,
            )
        except HolamemError as error:
            raise CommandError(error.message) from error
        line = {"tenant": tenant.slug, "workspace": slug, "api_key": issued.token}
        if options["as_json"]:
            self.stdout.write(json.dumps(line))
        else:
            self.stdout.write(f"{issued.token}   (shown this once)")

"""Django's `migrate` as the owner of the tables, with the rights brought up to date after it."""

from contextlib import nullcontext
from typing import Any

from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import connections

from holamem.database.roles import apply_grants, as_owner, can_migrate, ensure_roles
from holamem.queue import ensure_sweep_schedule


class Command(MigrateCommand):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        only_looks = options["plan"] or options["check_unapplied"]
        if not only_looks:
            ensure_roles(connection)
        may_own = not only_looks or can_migrate(connection)
        with as_owner(connection) if may_own else nullcontext():
            super().handle(*args, **options)
        if not only_looks:
            apply_grants(connection)
            ensure_sweep_schedule()

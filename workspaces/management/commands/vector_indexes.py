"""`manage.py vector_indexes`: what the sweep does for large scopes, now and whatever their size."""

from typing import Any

from django.core.management.base import BaseCommand

from workspaces.services.vector_indexes import maintain_vector_indexes


class Command(BaseCommand):
    help = "Build the vector indexes of large scopes, and drop those of scopes that shrank."

    def handle(self, *args: Any, **options: Any) -> None:
        changed = maintain_vector_indexes(most=None)
        self.stdout.write("\n".join(changed) or "Nothing to do.")

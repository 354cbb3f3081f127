#!/usr/bin/env python
"""Command line of holamem."""

import os
import sys

# These only read code or bring their own database; every other command needs it.
WITHOUT_DATABASE = {
    "up", "bench", "help", "version", "check", "makemigrations", "makemessages",
    "compilemessages", "collectstatic", "findstatic", "spectacular", "diffsettings", "mypy",
}  # fmt: skip

# These work on what they find, for as long as they run.
LASTING = {"qcluster", "runner"}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "holamem.settings")
    if not WITHOUT_DATABASE.intersection(sys.argv[1:2] or ["help"]):
        use_a_database()
    if LASTING.intersection(sys.argv[1:2]):
        check_schema()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


def use_a_database() -> None:
    """With no database named, attach to the embedded one of the data directory, or start it."""
    from holamem.database.embedded import use_embedded
    from holamem.environment import get_environment

    environment = get_environment()
    if not environment.database_url:
        os.environ["HOLAMEM_DATABASE_URL"] = use_embedded(environment.data_dir)
        get_environment.cache_clear()


def check_schema() -> None:
    """A worker must not work on a database of a newer release, or on half a restore."""
    import django

    django.setup()
    from holamem.database.schema import refuse_unservable_schema

    refuse_unservable_schema()


if __name__ == "__main__":
    main()

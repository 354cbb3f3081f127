"""`manage.py mcp`: the memory tools for one key over standard input and output."""

import os
import sys
from contextlib import redirect_stdout
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import translation

from holamem.errors import HolamemError
from retrieval.mcp.stdio import serve
from workspaces.services.principals import admit_key

KEY_VARIABLE = "HOLAMEM_API_KEY"


class Command(BaseCommand):
    help = (
        "Serve the memory tools (Model Context Protocol) over standard input and output, for the"
        f" API key in {KEY_VARIABLE}."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        key = os.environ.get(KEY_VARIABLE, "")
        try:
            admit_key(key, workspace_slug=None)
        except HolamemError as error:
            raise CommandError(f"{KEY_VARIABLE}: {error.message}") from error
        outgoing = sys.stdout.buffer
        # Whatever prints by accident must not break the stream of messages.
        with translation.override("en"), redirect_stdout(sys.stderr):
            serve(key, incoming=sys.stdin.buffer, outgoing=outgoing)

"""The sample conversations, sent through the public API like any caller's."""

import sys
from collections.abc import Callable, Sequence

import httpx2

from holamem import sample
from holamem.errors import HolamemError
from holamem.supervisor.installation import FirstCredentials, memory_is_empty
from holamem.supervisor.run import Machine


def fill_with_sample(
    machine: Machine,
    credentials: FirstCredentials,
    *,
    languages: Sequence[str],
    say: Callable[[str], None],
) -> bool:
    """True when it was loaded: only into an empty memory, and only what was asked for."""
    if not languages or not memory_is_empty(credentials):
        return False
    say("Loading the sample …")
    try:
        sample.load(machine.url, credentials.api_key, credentials.workspace, languages)
    except (httpx2.HTTPError, HolamemError, OSError) as error:
        say(f"The sample could not be loaded: {error}")  # memory works without it
        return False
    return True


def show_sample_questions(
    machine: Machine, credentials: FirstCredentials, *, languages: Sequence[str]
) -> None:
    sample.show_questions(
        machine.url, credentials.api_key, credentials.workspace, languages, sys.stdout
    )

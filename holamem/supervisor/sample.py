"""The sample conversations, sent through the public API like any caller's."""

from collections.abc import Callable, Sequence

import httpx2
from django.db import DatabaseError, connection

from holamem.database.statistics import refresh_statistics
from holamem.sample.loader import SampleFailed, load_sample
from holamem.sample.showcase import show_questions
from holamem.supervisor.installation import FirstCredentials, memory_is_empty
from holamem.supervisor.watching import Watcher


def fill_with_sample(
    watcher: Watcher, credentials: FirstCredentials, *, languages: Sequence[str]
) -> bool:
    """True when it was loaded: only into an empty memory, and only what was asked for."""
    if not languages or not memory_is_empty(credentials):
        return False
    watcher.say("Loading the sample, which takes about a minute …")
    loaded = []

    def load() -> None:
        report = load_sample(
            url=watcher.machine.url,
            api_key=credentials.api_key,
            workspace=credentials.workspace,
            languages=languages,
        )
        loaded.append(report)
        refresh_statistics()
        connection.close()

    watcher.during(_reported(load, watcher.say))
    return bool(loaded)


def show_sample_questions(
    watcher: Watcher, credentials: FirstCredentials, *, languages: Sequence[str]
) -> None:
    def show() -> None:
        answers = show_questions(
            url=watcher.machine.url,
            api_key=credentials.api_key,
            workspace=credentials.workspace,
            languages=languages,
        )
        print(answers, flush=True)

    watcher.during(_reported(show, watcher.say))


def _reported(work: Callable[[], None], say: Callable[[str], None]) -> Callable[[], None]:
    """The memory works without the sample, so its failure is said and no more."""

    def run() -> None:
        try:
            work()
        except (httpx2.HTTPError, SampleFailed, DatabaseError) as error:
            say(f"The sample did not work: {error}")

    return run

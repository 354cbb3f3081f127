"""What a worker does in a process that may be killed; started by `tests.faults.processes`."""

import os
from collections.abc import Sequence
from uuid import UUID


def work_in(base_url: str, not_ours: Sequence[UUID]) -> None:
    """Execute what is due, and feed memory with it, like a runner with one thread."""
    from agents.runner.claiming import claim_run
    from agents.runner.turns import execute
    from agents.services.feeding import feed_run
    from holamem.environment import get_environment
    from holamem.providers import registry

    os.environ.update(
        OPENAI_BASE_URL=base_url, OPENAI_API_KEY="sk-test-0123456789", HOLAMEM_CHAT_MODEL="scripted"
    )
    get_environment.cache_clear()
    registry.reset()
    while (handle := claim_run(busy=not_ours)) is not None:
        execute(handle)
        feed_run(handle.workspace, run=handle.run)

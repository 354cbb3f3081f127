"""What distils in a process that may be killed; started by `tests.faults.processes`."""

import os
from uuid import UUID


def distill_in(base_url: str, workspace_id: UUID, session_id: UUID) -> None:
    """The passes of one session of nobody, as a worker's job makes them."""
    from agents.distill.passes import Cause, distill_next
    from holamem.database.scope import system_scope
    from holamem.environment import get_environment
    from holamem.providers import registry
    from tests.agents.distill.sessions import telling
    from workspaces.models.tenancy import Workspace

    os.environ.update(
        OPENAI_BASE_URL=base_url, OPENAI_API_KEY="sk-test-0123456789", HOLAMEM_CHAT_MODEL="scripted"
    )
    get_environment.cache_clear()
    registry.reset()
    with system_scope():
        workspace = Workspace.objects.select_related("tenant").get(id=workspace_id)
    cause = Cause("manual")
    with telling():
        while distill_next(workspace, session_id=session_id, scope_id=workspace_id, cause=cause):
            continue

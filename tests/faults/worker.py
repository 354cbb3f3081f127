"""One worker process for one workspace: `python -m tests.faults.worker <workspace id> [<poison>]`.

It runs what is due there, as the real worker does, and dies where HOLAMEM_FAULT says. The event
whose id is <poison> kills whoever takes it up.
"""

import os
import signal
import sys
from uuid import UUID

import django


def main() -> None:
    django.setup()
    from holamem.database.scope import system_scope
    from tests.workspaces.memory import drain
    from workspaces.models.tenancy import Workspace

    if len(sys.argv) > 2:
        poison(UUID(sys.argv[2]))
    with system_scope():
        workspace = Workspace.objects.select_related("tenant").get(id=UUID(sys.argv[1]))
    drain(workspace)


def poison(event_id: UUID) -> None:
    from workspaces.models.jobs import Job
    from workspaces.models.tenancy import Workspace
    from workspaces.services.jobs import ClaimedJob, register_handler
    from workspaces.services.processing import process_event

    def handler(workspace: Workspace, job: ClaimedJob) -> None:
        if job.target_id == event_id:
            os.kill(os.getpid(), signal.SIGKILL)
        process_event(workspace, job)

    register_handler(Job.Topic.EVENT_RECEIVED, handler)


if __name__ == "__main__":
    main()

"""One worker process for one workspace: `python -m tests.faults.worker <workspace id>`.

It runs what is due there, as the real worker does, and dies where HOLAMEM_FAULT says.
"""

import sys
from uuid import UUID

import django


def main() -> None:
    django.setup()
    from holamem.database.scope import system_scope
    from tests.workspaces.memory import drain
    from workspaces.models.tenancy import Workspace

    with system_scope():
        workspace = Workspace.objects.select_related("tenant").get(id=UUID(sys.argv[1]))
    drain(workspace)


if __name__ == "__main__":
    main()

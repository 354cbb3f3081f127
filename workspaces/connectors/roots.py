"""Which folders of this machine may be connected: callers must not read the server's files."""

import os
from pathlib import Path

from holamem.environment import get_environment
from holamem.errors import InvalidInput

SETTING = "HOLAMEM_CONNECTOR_ROOTS"
FIELD = "settings.path"


def allowed_roots(tenant: str) -> list[Path]:
    """Resolved, in the order of the setting; an entry `tenant=path` is for that tenant alone."""
    roots = []
    for entry in get_environment().connector_root_list:
        owner, _, path = entry.rpartition("=")
        if owner in ("", tenant):
            roots.append(Path(os.path.realpath(path)))
    return roots


def resolve_folder(path: str, *, tenant: str) -> tuple[Path, Path]:
    """The allowed root and the folder below it, both free of links.

    Raises InvalidInput. The words for a folder that is elsewhere and for one that does not exist
    there are the same: this must not tell what else is on the machine.
    """
    roots = allowed_roots(tenant)
    if not roots:
        raise InvalidInput(
            f"No folder may be connected: the operator has to name its root in {SETTING}.",
            field=FIELD,
        )
    if not os.path.isabs(path) or "\x00" in path:
        raise InvalidInput("An absolute path is expected.", field=FIELD)
    folder = Path(os.path.realpath(path))
    for root in roots:
        if folder.is_relative_to(root):
            return root, folder
    raise InvalidInput(f"The folder is under no root that {SETTING} names.", field=FIELD)

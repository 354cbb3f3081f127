"""First start: database contents, the credentials file, and whether there is any memory yet."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from django.core.management import call_command
from django.db import connections

from holamem.database.config import database_settings
from holamem.database.layout import write_private
from holamem.database.scope import system_scope
from holamem.environment import SECRET_KEY_FILE, get_environment
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import bootstrap_installation

SECRET_KEY_BYTES = 48
CREDENTIALS_FILE = "credentials.json"


@dataclass(frozen=True, slots=True)
class FirstCredentials:
    """What a person needs to sign in and to call the API; kept with mode 0600."""

    tenant: str
    workspace: str
    api_key: str
    admin_user: str
    admin_password: str


def use_database(url: str) -> None:
    """Point this process, whose settings are loaded already, and its children at the database."""
    connections.close_all()
    os.environ["HOLAMEM_DATABASE_URL"] = url
    entry = database_settings(url)
    connections.settings["default"].update(entry)
    connections["default"].settings_dict.update(entry)
    get_environment.cache_clear()


def migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False)


def ensure_secret_key(data_dir: Path) -> None:
    """Sessions and queue messages are signed with a key that only this installation has."""
    path = data_dir / SECRET_KEY_FILE
    if not path.exists():
        write_private(path, secrets.token_urlsafe(SECRET_KEY_BYTES) + "\n")


def ensure_credentials(data_dir: Path) -> FirstCredentials:
    """Those of the first start, or new ones when the file or the installation is missing."""
    path = data_dir / CREDENTIALS_FILE
    stored = _read(path)
    if stored is not None and _is_installed(stored):
        return stored
    made = bootstrap_installation(admin_password=None)
    credentials = FirstCredentials(
        made.tenant, made.workspace_slug, made.api_key, made.admin_user, made.admin_password
    )
    write_private(path, json.dumps(asdict(credentials), indent=2) + "\n")
    return credentials


def _read(path: Path) -> FirstCredentials | None:
    try:
        return FirstCredentials(**json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _is_installed(credentials: FirstCredentials) -> bool:
    with system_scope():
        return Workspace.objects.filter(
            slug=credentials.workspace, tenant__slug=credentials.tenant
        ).exists()


def memory_is_empty(credentials: FirstCredentials) -> bool:
    with system_scope():
        return not Event.objects.filter(
            workspace__slug=credentials.workspace, workspace__tenant__slug=credentials.tenant
        ).exists()

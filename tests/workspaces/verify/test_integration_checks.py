"""Damage to what memory holds of outside systems is found under its code."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from holamem.environment import get_environment
from tests.workspaces.connectors.folders import allow, write
from tests.workspaces.memory import draft, drain, principal_of, remember
from tests.workspaces.services.test_lineage import deletion
from tests.workspaces.services.test_revisions import revision
from tests.workspaces.verify.test_checks import is_found
from workspaces.models.tenancy import Workspace
from workspaces.services.integrations.connectors import create_connector, request_sync
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.verify.run import verify_workspace


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root: Path = tmp_path_factory.mktemp("roots")
    patch = pytest.MonkeyPatch()
    allow(patch, str(root))
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
    workspace = create_workspace(tenant, slug="main", name="Main")
    remember(
        workspace,
        draft("Mara owns the Atlas gateway."),
        revision("Port is 1.", of="a"),
        revision("Port is 2.", of="a", minutes=1),
        revision("Gone soon.", of="b"),
    )
    remember(workspace, deletion(of="b", minutes=2))
    write(root, "c.md", "Service c uses port 3.")
    where = {"provider": "folder", "account": "notes"}
    principal = principal_of(workspace)
    settings = {"path": str(root)}
    create_connector(
        workspace, principal=principal, kind="markdown_folder", settings=settings, **where
    )
    request_sync(workspace, principal=principal, scopes=None, **where)
    drain(workspace)
    yield workspace
    patch.undo()
    get_environment.cache_clear()


LEAF = "UPDATE workspaces_sourceleaf SET {change} WHERE workspace_id = %(workspace)s AND {which}"
EVENT = "(SELECT id FROM workspaces_event WHERE workspace_id = %(workspace)s AND {which} LIMIT 1)"
DAMAGES = [
    (
        "I1",
        "UPDATE workspaces_leafsource SET event_id = "
        + EVENT.format(which="category = 'interaction'")
        + " WHERE leaf_id IN (SELECT id FROM workspaces_sourceleaf"
        " WHERE workspace_id = %(workspace)s AND category = 'integration' LIMIT 1)",
    ),
    (
        "I1",
        "UPDATE workspaces_event SET account = 'elsewhere' WHERE workspace_id = %(workspace)s"
        " AND external_id = 'a'",
    ),
    (
        "I2",
        LEAF.format(change="status = 'active'", which="status = 'inactive' AND title ~ 'Gone'"),
    ),
    ("I2", LEAF.format(change="status = 'active'", which="status = 'superseded'")),
    (
        "I3",
        LEAF.format(
            change="status = 'inactive'", which="category = 'integration' AND status = 'active'"
        ),
    ),
    (
        "I4",
        "UPDATE workspaces_connectorobject SET is_deleted = true"
        " WHERE workspace_id = %(workspace)s",
    ),
    (
        "I5",
        "UPDATE workspaces_connector SET status = 'running' WHERE workspace_id = %(workspace)s",
    ),
]


def test_a_memory_of_outside_systems_is_clean(memory: Workspace) -> None:
    assert verify_workspace(memory) == []


@pytest.mark.parametrize(("code", "statement"), DAMAGES)
def test_damage_is_found_under_its_code(memory: Workspace, code: str, statement: str) -> None:
    assert is_found(memory, statement, code=code)

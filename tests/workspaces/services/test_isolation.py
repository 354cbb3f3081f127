"""PostgreSQL refuses what code forgets: scope, role and workspace, each on its own."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from holamem.database.scope import (
    ALL_SCOPES,
    ScopeViolation,
    eraser_scope,
    system_scope,
    workspace_scope,
)
from tests.workspaces.memory import draft, remember
from workspaces.models.log import Event
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.tenants import create_workspace


@pytest.fixture
def neighbour(tenant: Tenant) -> Workspace:
    return create_workspace(tenant, slug="neighbour", name="Neighbour")


def test_without_a_scope_no_tenant_table_can_be_read(workspace: Workspace) -> None:
    with pytest.raises(DatabaseError, match="permission denied"):
        Event.objects.count()


def test_a_workspace_step_sees_its_own_rows_only(
    workspace: Workspace, neighbour: Workspace
) -> None:
    remember(workspace, draft("The Atlas gateway listens on port 8443."))
    with workspace_scope(neighbour, ALL_SCOPES):
        assert Event.objects.count() == 0
        assert SourceLeaf.objects.filter(workspace=workspace).count() == 0
    with workspace_scope(workspace, ALL_SCOPES):
        assert SourceLeaf.objects.count() == 1


def test_private_rows_are_hidden_from_the_shared_scope(workspace: Workspace) -> None:
    [private] = remember(workspace, draft("Ada likes green tea most.", user_id="ada"))
    with workspace_scope(workspace):
        assert workspace.leaves.count() == 0
        ada = workspace.end_users.get(ref="ada")
    with workspace_scope(workspace, [workspace.id, ada.id]):
        assert workspace.leaves.get().id == private.chunks[0].leaf_id


def test_a_row_cannot_be_written_into_another_workspace(
    workspace: Workspace, neighbour: Workspace
) -> None:
    [result] = remember(workspace, draft("The Atlas gateway listens on port 8443."))
    with pytest.raises(DatabaseError, match="row-level security"), workspace_scope(neighbour):
        Event.objects.create(
            workspace=workspace,
            scope_id=workspace.id,
            kind="user_message",
            payload_text="x",
            text_sha256="0" * 64,
            received_at="2026-05-20T00:00:00Z",
        )
    with pytest.raises(IntegrityError), system_scope():
        SourceLeaf.objects.filter(id=result.chunks[0].leaf_id).update(workspace=neighbour)


def test_a_step_of_one_workspace_cannot_nest_in_another(
    workspace: Workspace, neighbour: Workspace
) -> None:
    with workspace_scope(workspace), pytest.raises(ScopeViolation), workspace_scope(neighbour):
        pass


def test_the_role_ends_with_the_step_also_after_an_error(workspace: Workspace) -> None:
    with pytest.raises(ZeroDivisionError), workspace_scope(workspace):
        raise ZeroDivisionError
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_setting('holamem.workspace_id', true)")
        user, setting = cursor.fetchone()
    assert (user, setting or "") == ("holamem", "")


def test_a_step_inside_a_longer_transaction_gives_its_role_back(workspace: Workspace) -> None:
    with transaction.atomic():
        with system_scope():
            assert Event.objects.filter(workspace=workspace).count() == 0
        with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
            Event.objects.count()


def test_a_leaf_cannot_be_changed_or_deleted(workspace: Workspace) -> None:
    [result] = remember(workspace, draft("The Atlas gateway listens on port 8443."))
    leaf_id = result.chunks[0].leaf_id
    for change in ({"title": "x"}, {"body_sha256": "0" * 64}, {"observed_at": "2020-01-01T00:00Z"}):
        with pytest.raises(IntegrityError, match="immutable"), system_scope():
            SourceLeaf.objects.filter(id=leaf_id).update(**change)
    with pytest.raises(DatabaseError), system_scope():
        SourceLeaf.objects.filter(id=leaf_id)._raw_delete(using="default")
    with eraser_scope():
        assert SourceLeaf.objects.filter(id=leaf_id).update(title="erased") == 1

"""A step in one way to the server is a step like any other."""

import psycopg
import pytest
from django.db import DatabaseError, connection
from psycopg.pq import TransactionStatus

from holamem.database.one_trip import fetch_last_dicts, read_step, read_system_step, write_step
from holamem.database.prepared import fetch_rows
from holamem.database.scope import reading_scope, workspace_scope
from holamem.database.statements import Statement
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.tenants import create_workspace

TREES = "SELECT count(*) FROM workspaces_tree"
ADD_TREE = (
    "INSERT INTO workspaces_tree (id, workspace_id, scope_id, category, key, title, provider,"
    " account, height, leaf_count, status, mirrored_state, created_at, updated_at)"
    " VALUES (gen_random_uuid(), %s, %s, 'integration', %s, '', 'box', 'one', 0, 0, 'active', '',"
    " now(), now())"
)


def add_tree(workspace: Workspace, key: str) -> Statement:
    return Statement(ADD_TREE, [workspace.pk, workspace.pk, key])


def is_idle() -> bool:
    return bool(connection.connection.info.transaction_status == TransactionStatus.IDLE)


def test_a_step_sees_its_workspace_alone(tenant: Tenant, workspace: Workspace) -> None:
    other = create_workspace(tenant, slug="other", name="Other")
    write_step(other, None, statements=[add_tree(other, "a")])
    write_step(workspace, None, statements=[add_tree(workspace, "a"), add_tree(workspace, "b")])

    assert read_step(workspace, None, statement=TREES, values={}) == [(2,)]
    assert read_step(other, None, statement=TREES, values={}) == [(1,)]
    with workspace_scope(other):
        assert read_step(other, None, statement=TREES, values={}) == [(1,)]
    assert is_idle()


def test_nothing_of_a_step_outlives_it(workspace: Workspace) -> None:
    read_step(workspace, None, statement=TREES, values={})
    write_step(workspace, None, statements=[add_tree(workspace, "a")])

    with pytest.raises(DatabaseError, match="permission denied"), connection.cursor() as cursor:
        cursor.execute(TREES)


def test_what_fails_leaves_nothing_and_a_connection_that_works(workspace: Workspace) -> None:
    twice = [add_tree(workspace, "a"), add_tree(workspace, "a")]
    with pytest.raises(DatabaseError):
        write_step(workspace, None, statements=twice)
    with pytest.raises(DatabaseError):
        read_step(
            workspace,
            None,
            statement="SELECT 1 / (count(*) - count(*)) FROM workspaces_tree",
            values={},
        )

    assert is_idle()
    assert read_step(workspace, None, statement=TREES, values={}) == [(0,)]


def test_the_system_sees_all(workspace: Workspace) -> None:
    statement = "SELECT slug FROM workspaces_workspace WHERE id = %(id)s"

    assert read_system_step(statement=statement, values={"id": workspace.pk}) == [
        {"slug": workspace.slug}
    ]


def test_the_last_statement_ends_its_reading(workspace: Workspace) -> None:
    with reading_scope(workspace):
        assert fetch_last_dicts(TREES, {}) == [{"count": 0}]
        assert is_idle()
        with pytest.raises(DatabaseError, match="permission denied"):
            fetch_rows(TREES, {})

    assert read_step(workspace, None, statement=TREES, values={}) == [(0,)]


def test_inside_another_step_it_ends_nothing(workspace: Workspace) -> None:
    with workspace_scope(workspace):
        assert fetch_last_dicts(TREES, {}) == [{"count": 0}]
        assert fetch_rows(TREES, {}) == [(0,)]


def test_a_connection_that_the_server_closed_is_replaced(workspace: Workspace) -> None:
    read_step(workspace, None, statement=TREES, values={})
    lost = connection.connection
    with psycopg.connect(lost.info.dsn, password=lost.info.password) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [lost.info.backend_pid])
    connection.close_if_unusable_or_obsolete()  # as at the start of a request

    assert read_step(workspace, None, statement=TREES, values={}) == [(0,)]
    assert connection.connection is not lost

"""Rows as they come back from a statement of our own."""

import pytest
from django.db import connection

from holamem.database.rows import read_rows
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from workspaces.models.entities import Entity
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace


def test_columns_in_another_order_end_in_their_own_fields(workspace: Workspace) -> None:
    names = [str(field.column) for field in Entity._meta.concrete_fields]
    columns = ", ".join(reversed(names))
    with workspace_scope(workspace), connection.cursor() as cursor:
        made = Entity.objects.create(
            id=new_id(),
            workspace=workspace,
            scope_id=workspace.id,
            type="system",
            slug="atlas",
            name="Atlas",
            normalised_name="atlas",
            aliases=["the edge"],
        )
        cursor.execute(f"SELECT {columns} FROM workspaces_entity WHERE id = %s", [made.id])
        [read] = read_rows(Entity, cursor)
        known = Entity.objects.get(id=made.id)
    values = {field.attname: getattr(known, field.attname) for field in Entity._meta.fields}
    assert {name: getattr(read, name) for name in values} == values
    assert not read._state.adding


def test_a_model_with_json_is_refused() -> None:
    with connection.cursor() as cursor, pytest.raises(ValueError, match="JSON"):
        read_rows(Job, cursor)

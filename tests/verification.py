"""Every test that writes may end by proving that all invariants hold."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.apps import apps
from django.db import connection

from holamem.database.scope import joined_system_scope, system_scope
from workspaces.models.tenancy import Workspace
from workspaces.verify.findings import Finding, Severity
from workspaces.verify.run import verify_installation, verify_workspace

# A module that damages memory on purpose names here what it leaves behind.
EXPECTED = "EXPECTED_FINDINGS"


def assert_clean(workspace: Workspace) -> None:
    """No error; warnings are left to those who test them."""
    found = shown(errors_of(workspace))
    assert found == [], found
    _clean[workspace.pk] = rows_of(workspace)


_clean: dict[UUID, list[tuple[str, int, int | None]]] = {}


def _is_known_to_be_clean(workspace: Workspace) -> bool:
    return workspace.pk in _clean and _clean[workspace.pk] == rows_of(workspace)


def rows_of(workspace: Workspace) -> list[tuple[str, int, int | None]]:
    """Of each table: the number of the workspace's rows, and their newest transaction."""
    tables = [
        model._meta.db_table
        for model in apps.get_models()
        if any(field.attname == "workspace_id" for field in model._meta.concrete_fields)
    ]
    parts = (
        f"SELECT '{table}', count(*), max(xmin::text::bigint) FROM {table} WHERE workspace_id = %(w)s"
        for table in tables
    )
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), {"w": workspace.pk})
        return list(cursor.fetchall())


def assert_installation_clean() -> None:
    assert shown(verify_installation()) == []


def errors_of(workspace: Workspace) -> list[Finding]:
    with joined_system_scope():
        found = verify_workspace(workspace)
    return [finding for finding in found if finding.severity is Severity.ERROR]


def shown(findings: list[Finding]) -> list[str]:
    return [f"{finding.code} {finding.object} {finding.message}" for finding in findings]


def verify_what_the_module_wrote(request: pytest.FixtureRequest) -> Iterator[None]:
    """The body of an autouse fixture of module scope."""
    before = workspace_ids()
    yield
    expected = getattr(request.module, EXPECTED, frozenset())
    for workspace in workspaces_except(before):
        if _is_known_to_be_clean(workspace):
            continue
        findings = [found for found in errors_of(workspace) if found.code not in expected]
        assert shown(findings) == [], f"left behind in {workspace.slug}"


def workspace_ids() -> set[UUID]:
    with system_scope():
        return set(Workspace.objects.values_list("id", flat=True))


def workspaces_except(known: set[UUID]) -> list[Workspace]:
    with system_scope():
        written = Workspace.objects.exclude(id__in=known).filter(events__isnull=False)
        return list(written.select_related("tenant").distinct())

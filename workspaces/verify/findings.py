"""What a check is and what it answers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import connection

from holamem.database.scope import system_scope
from workspaces.models.tenancy import Workspace

ROWS_SHOWN = 200  # of one check in one workspace; a broken tree must not fill the memory


class Severity(StrEnum):
    """An error means that memory is lost, wrong or exposed; a warning repairs itself or can wait."""

    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Violation:
    """`object` is `kind:id`. `severity` None: the check's own."""

    object: str
    detail: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """`code` names the invariant, `message` says it in words; `workspace` is a slug or empty."""

    code: str
    severity: Severity
    object: str
    message: str
    suggested_repair: str
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One invariant of a workspace: `words` say what holds, `find` returns what breaks it."""

    code: str
    words: str
    find: Callable[[Workspace], Iterable[Violation]]
    repair: str
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class InstallationCheck:
    """One invariant of the schema and the roles."""

    code: str
    words: str
    find: Callable[[], Iterable[Violation]]
    repair: str
    severity: Severity = Severity.ERROR


def rows(kind: str, query: str) -> Callable[[Workspace], list[Violation]]:
    """A check in SQL: it selects an id, and may select a detail, of every row that breaks it.

    SQL because joins of a table with itself and array elements read worse in the ORM. The
    workspace is `%(workspace)s`, its seal threshold `%(threshold)s`.
    """

    def find(workspace: Workspace) -> list[Violation]:
        parameters: dict[str, Any] = {
            "workspace": workspace.pk,
            "threshold": workspace.preferences.seal_threshold,
        }
        with system_scope(), connection.cursor() as cursor:
            cursor.execute(f"{query} LIMIT {ROWS_SHOWN}", parameters)
            found = cursor.fetchall()
        return [Violation(f"{kind}:{row[0]}", str(row[1]) if len(row) > 1 else "") for row in found]

    return find


def to_finding(
    check: Check | InstallationCheck, violation: Violation, *, workspace: str = ""
) -> Finding:
    words = f"{check.words} ({violation.detail})" if violation.detail else check.words
    return Finding(
        code=check.code,
        severity=violation.severity or check.severity,
        object=violation.object,
        message=words,
        suggested_repair=check.repair,
        workspace=workspace,
    )

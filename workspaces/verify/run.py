"""Running the checks: each in one short step of its own, so that a live system is not held up."""

from collections.abc import Iterable, Sequence
from itertools import islice

from workspaces.models.tenancy import Workspace
from workspaces.verify import (
    bodies,
    corrections,
    counters,
    entities,
    erasure,
    integration,
    ledger,
    life_cycle,
    search_index,
    sidecars,
    tenancy,
    topology,
    usage,
    versions,
)
from workspaces.verify.findings import ROWS_SHOWN, Check, Finding, Severity, to_finding

EXIT_CLEAN, EXIT_WARNINGS, EXIT_ERRORS = 0, 1, 2
SIDECARS = frozenset({"B9"})

_checks: list[Check] = [
    *bodies.CHECKS,
    *sidecars.CHECKS,
    *topology.CHECKS,
    *counters.CHECKS,
    *life_cycle.CHECKS,
    *versions.CHECKS,
    *corrections.CHECKS,
    *entities.CHECKS,
    *search_index.CHECKS,
    *erasure.CHECKS,
    *integration.CHECKS,
    *ledger.CHECKS,
    *usage.CHECKS,
    *tenancy.CHECKS,
]


def register_checks(checks: Iterable[Check]) -> None:
    """An app above adds the invariants of its own tables, once, when it is ready."""
    _checks.extend(checks)


def registered_checks() -> Sequence[Check]:
    return tuple(_checks)


def verify_workspace(workspace: Workspace) -> list[Finding]:
    """Every finding, in the order of the checks; at most ROWS_SHOWN a check."""
    return [
        to_finding(check, violation, workspace=workspace.slug)
        for check in _checks
        for violation in islice(check.find(workspace), ROWS_SHOWN)
    ]


def broken_codes(workspace: Workspace) -> list[str]:
    """Of what is wrong with the rows and bodies of a workspace that is being imported.

    Its sidecars are written once it is there.
    """
    found = verify_workspace(workspace)
    errors = {finding.code for finding in found if finding.severity is Severity.ERROR}
    return sorted(errors - SIDECARS)


def verify_installation() -> list[Finding]:
    """What holds for the schema and the roles, whoever the tenant is."""
    return [
        to_finding(check, violation)
        for check in tenancy.INSTALLATION_CHECKS
        for violation in islice(check.find(), ROWS_SHOWN)
    ]


def exit_code(findings: Iterable[Finding]) -> int:
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return EXIT_ERRORS
    return EXIT_WARNINGS if severities else EXIT_CLEAN

"""Every test that writes may end by proving that all invariants hold."""

from workspaces.models.tenancy import Workspace
from workspaces.verify.findings import Finding, Severity
from workspaces.verify.run import verify_installation, verify_workspace


def errors_of(workspace: Workspace) -> list[Finding]:
    return [
        finding for finding in verify_workspace(workspace) if finding.severity is Severity.ERROR
    ]


def assert_clean(workspace: Workspace) -> None:
    """No error; warnings are left to those who test them."""
    assert _shown(errors_of(workspace)) == []


def assert_installation_clean() -> None:
    assert _shown(verify_installation()) == []


def _shown(findings: list[Finding]) -> list[str]:
    return [f"{finding.code} {finding.object} {finding.message}" for finding in findings]

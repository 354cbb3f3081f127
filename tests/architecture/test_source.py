"""Rules of the code that no linter knows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from holamem.environment import PROJECT_DIR
from tests.architecture.source import (
    PACKAGES,
    functions,
    imports,
    length_of,
    python_files,
    text_of,
    tree_of,
)

FUNCTION_LINES = 50
FILE_LINES = 400
# Files that may be longer, and why. None yet.
LONG_FILES: dict[str, str] = {}

# Where a query may start at a model instead of at a workspace, and why.
STARTS_AT_A_MODEL = {
    "workspaces/services/jobs.py": "the ledger and its sweeper serve all workspaces",
    "workspaces/services/worker.py": "a claimed job names its workspace",
    "workspaces/services/housekeeping.py": "what expires, expires in all workspaces",
    "workspaces/services/idempotency.py": "a key's requests, some of the tenant itself",
    "workspaces/services/retention.py": "each workspace sets its days, one sweep serves them all",
    "workspaces/services/status.py": "the age of the whole queue, for health",
    "workspaces/services/gauges.py": "sums over all workspaces, for whoever operates them",
    "workspaces/services/integrations/schedule.py": "one sweep serves all connectors",
    "workspaces/services/transfer/transfers.py": "one sweep serves all workspaces",
    "workspaces/services/transfer/changes.py": "the embedding model belongs to the installation",
    "workspaces/services/transfer/making.py": "the embedding model belongs to the installation",
    "workspaces/services/transfer/loading.py": "the workspace's own settings",
    "workspaces/services/webhooks/schedule.py": "one sweep serves all webhooks",
    "workspaces/services/principals.py": "a key is looked up before its workspace is known",
    "workspaces/services/api_keys.py": "keys belong to tenants",
    "workspaces/services/erasure/users.py": "answers to the tenant's keys, some of no workspace",
    "workspaces/services/members.py": "members belong to tenants",
    "workspaces/services/invitations.py": "invitations belong to tenants",
    "workspaces/services/keys.py": "keys belong to tenants",
    "workspaces/services/usage.py": "what all workspaces of a tenant took",
    "workspaces/services/quotas.py": "quotas belong to tenants",
    "workspaces/services/tenants.py": "tenants and workspaces themselves",
    "workspaces/services/listing.py": "the tenant of a principal",
    "workspaces/services/operators.py": "look-ups of commands, which see every tenant",
    "workspaces/services/rebuild/sidecar.py": "the workspace itself, as it is mirrored",
    "workspaces/services/rebuild/owners.py": "tenants and workspaces that are made again",
    "workspaces/services/reindexing.py": "the embedding model belongs to the installation",
    "workspaces/index/embedding.py": "the embedding model belongs to the installation",
    "agents/runner/claiming.py": "a runner takes the runs of all workspaces, and their sessions",
    "agents/runner/sweeping.py": "one sweep serves the runs of all workspaces",
    "agents/distill/schedule.py": "one sweep begins the nights of all workspaces",
    "agents/streaming/frames.py": "one look serves the followers of all workspaces",
    "agents/services/expiry.py": "one sweep serves the approvals of all workspaces",
}
DOMAIN = (
    "workspaces/services",
    "workspaces/judging",
    "workspaces/index",
    "workspaces/verify",
    "workspaces/dashboard",
    "workspaces/api",
    "retrieval",
    "agents",
)
MAKES_ROWS = {"create", "bulk_create", "none"}


def queries_that_start_at_a_model(path: Path) -> Iterator[int]:
    """Lines of `Model.objects.method(…)` that neither makes rows nor names the workspace."""
    for node in ast.walk(tree_of(path)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        manager = node.func.value
        if not (isinstance(manager, ast.Attribute) and manager.attr == "objects"):
            continue
        names_workspace = any(word.arg == "workspace" for word in node.keywords)
        if node.func.attr not in MAKES_ROWS and not names_workspace:
            yield node.lineno


def test_domain_queries_start_at_the_workspace() -> None:
    found = {
        str(path)
        for path in python_files()
        if str(path).startswith(DOMAIN) and any(queries_that_start_at_a_model(path))
    }
    assert found - set(STARTS_AT_A_MODEL) == set()
    assert set(STARTS_AT_A_MODEL) - found == set(), "an exception that is no longer needed"


def test_functions_are_short() -> None:
    long = [
        f"{path}: {function.name} has {length_of(function)} lines"
        for path in python_files()
        for function in functions(path)
        if length_of(function) > FUNCTION_LINES
    ]
    assert long == []


def test_files_are_short() -> None:
    long = [
        f"{path} has {len(text_of(path).splitlines())} lines"
        for path in python_files()
        if len(text_of(path).splitlines()) > FILE_LINES and str(path) not in LONG_FILES
    ]
    assert long == []


def test_nothing_listens_to_signals() -> None:
    users = [
        str(path)
        for path in python_files()
        if any(
            name.startswith("django") and name.endswith(("signals", "dispatch"))
            for name in imports(path)
        )
    ]
    assert users == []


def test_packages_are_empty_but_for_djangos_registries() -> None:
    """What `__init__` holds runs at every import below it."""
    filled = [
        str(path)
        for path in (*python_files(), *python_files("tests"))
        if path.name == "__init__.py" and text_of(path).strip()
    ]
    registries = ("models/__init__.py", "admin/__init__.py")
    face = "holamem/client/__init__.py"  # what users of the client import, and nothing else does
    assert [path for path in filled if not path.endswith((*registries, face))] == []


def test_nothing_is_called_utils() -> None:
    banned = re.compile(r"^(utils?|helpers?|common|misc)(\.py)?$")
    assert [str(path) for path in python_files() if banned.match(path.name)] == []


def test_nothing_is_left_undone() -> None:
    unfinished = re.compile(r"#\s*(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError")
    assert [str(path) for path in python_files() if unfinished.search(text_of(path))] == []


def test_every_package_has_a_mirror_in_tests() -> None:
    assert [
        name
        for name in PACKAGES
        if name != "agents" and not (PROJECT_DIR / "tests" / name).is_dir()
    ] == []


def test_lock_files_name_packages_and_hashes_only() -> None:
    locks = sorted(PROJECT_DIR.glob("requirements*.lock"))
    assert locks
    elsewhere = re.compile(
        r"://|--(extra-)?index-url|--find-links|file:|^-e|\s@\s|^/", re.MULTILINE
    )
    assert [lock.name for lock in locks if elsewhere.search(lock.read_text())] == []


def test_a_test_asks_only_for_known_markers() -> None:
    """Slow tests carry a marker that the fast suite leaves out."""
    used = {
        mark
        for path in python_files("tests")
        for mark in re.findall(r"pytest\.mark\.(\w+)", text_of(path))
    }
    builtin = {"parametrize", "skipif", "skip", "usefixtures", "xfail", "filterwarnings", "timeout"}
    assert used - builtin <= {"slow", "llm", "browser", "django_db"}

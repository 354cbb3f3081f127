"""A worker that is killed at any point loses nothing and doubles nothing."""

import ast
from pathlib import Path

import pytest

from holamem.environment import PROJECT_DIR
from tests.faults.crash import is_killed_at, picture, recover
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, principal_of
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.tenants import create_workspace

SEAL_THRESHOLD = 2

FACTS = [
    draft("The Atlas gateway listens on port 8443.", source="chat", external_id="m1"),
    draft("Mara Lindqvist owns the Atlas gateway.", minutes=1, source="chat", external_id="m2"),
    draft("The Atlas gateway listens on port 8443.", minutes=2, source="chat", external_id="m3"),
    draft(
        "Rate limits of the Atlas gateway live in Redis.",
        minutes=3,
        source="chat",
        external_id="m4",
    ),
    draft("北京办公室的打印机在三楼走廊尽头。", minutes=4, source="chat", external_id="m5"),
    draft(
        "The Atlas gateway forwards traces to Tempo.", minutes=5, source="chat", external_id="m6"
    ),
    draft(
        "The Atlas gateway supports HTTP/2 and gRPC.", minutes=6, source="chat", external_id="m7"
    ),
]

# Where in the run of FACTS each point is struck: first and later, so that both a new tree and
# a tree that grows are cut.
SAMPLED = [
    ("leaf.after_file", 1),
    ("leaf.after_commit", 1),
    ("seal.in_swap", 2),
]
REST = [
    ("body.before_rename", 1),
    ("leaf.before_commit", 2),
    ("seal.after_file", 1),
    ("seal.after_swap", 2),
    ("body.after_rename", 3),
    ("body.before_rename", 6),
    ("event.taken_up", 2),
    ("event.before_processed", 3),
    ("chunk.judged", 1),
    ("chunk.planned", 1),
    ("leaf.after_file", 3),
    ("leaf.after_row", 1),
    ("leaf.after_row", 4),
    ("leaf.after_commit", 5),
    ("duplicate.before_commit", 1),
    ("seal.after_draft", 1),
    ("seal.after_draft", 3),
    ("seal.before_swap", 1),
    ("seal.before_swap", 3),
    ("seal.in_swap", 1),
    ("seal.in_swap", 3),
    ("seal.after_swap", 1),
    ("seal.after_file", 3),
]


def small_workspace(tenant: Tenant, slug: str) -> Workspace:
    return create_workspace(
        tenant, slug=slug, name=slug, settings={"seal_threshold": SEAL_THRESHOLD}
    )


def receive(workspace: Workspace, drafts: list[EventDraft]) -> None:
    receive_events(workspace, drafts=drafts, principal=principal_of(workspace))


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, object]:
    """What memory holds after the same events when nothing is killed."""
    from uuid import uuid4

    from workspaces.services.tenants import create_tenant

    workspace = small_workspace(create_tenant(slug=f"t-{uuid4().hex}", name="A tenant"), "clean")
    receive(workspace, FACTS)
    drain(workspace)
    assert_clean(workspace)
    return picture(workspace)


def assert_survives(workspace: Workspace, *, at: str, occurrence: int) -> dict[str, object]:
    receive(workspace, FACTS)
    assert is_killed_at(workspace, at, occurrence=occurrence), f"{at} was not reached"
    recover(workspace)
    after = picture(workspace)
    receive(workspace, FACTS)  # the caller that never got its answer sends the same again
    drain(workspace)
    assert picture(workspace) == after
    assert_clean(workspace)
    return after


@pytest.mark.parametrize(("at", "occurrence"), SAMPLED)
def test_a_killed_worker_leaves_work_that_the_next_completes(
    tenant: Tenant, undisturbed: dict[str, object], at: str, occurrence: int
) -> None:
    workspace = small_workspace(tenant, "struck")
    assert assert_survives(workspace, at=at, occurrence=occurrence) == undisturbed


def test_what_the_last_step_of_a_killed_pass_changed_is_mirrored_all_the_same(
    tenant: Tenant,
) -> None:
    """The next pass finds nothing to seal; `recover` looks at the sidecar too."""
    workspace = small_workspace(tenant, "struck")
    receive(workspace, [FACTS[0], FACTS[3]])
    assert is_killed_at(workspace, "seal.after_swap")
    recover(workspace)


@pytest.mark.slow
@pytest.mark.parametrize(("at", "occurrence"), REST)
def test_every_other_point_is_survived_too(
    tenant: Tenant, undisturbed: dict[str, object], at: str, occurrence: int
) -> None:
    workspace = small_workspace(tenant, "struck")
    assert assert_survives(workspace, at=at, occurrence=occurrence) == undisturbed


def test_every_point_in_the_code_is_struck_by_a_test() -> None:
    in_code = {
        name
        for package in ("workspaces", "agents")
        for path in (PROJECT_DIR / package).rglob("*.py")
        for name in points(path)
    }
    tests = "\n".join(path.read_text() for path in (PROJECT_DIR / "tests").rglob("test_*.py"))
    assert {name for name in in_code if f'"{name}' not in tests} == set()
    assert {name for name, _ in (*SAMPLED, *REST)} <= in_code


def points(path: Path) -> list[str]:
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return [
        call.args[0].value
        for call in calls
        if ast.unparse(call.func) == "faults.point" and isinstance(call.args[0], ast.Constant)
    ]

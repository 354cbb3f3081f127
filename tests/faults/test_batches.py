"""A worker that is killed in the middle of a batch loses nothing and doubles nothing."""

from typing import Any

import pytest

from holamem.database.scope import system_scope
from tests.faults import child
from tests.faults.crash import picture, recover
from tests.faults.processes import start
from tests.faults.test_crash_points import FACTS, receive, small_workspace
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.claiming import Turns
from workspaces.services.jobs import finish_jobs

STRUCK = [
    ("event.taken_up", 4),
    ("chunk.judged", 3),
    ("leaf.after_file", 3),
    ("leaf.before_commit", 5),
    ("leaf.after_commit", 2),
    ("duplicate.before_commit", 1),
    ("event.before_processed", 7),
]


TREES = [
    draft(f"The {system} gateway keeps {what}.", minutes=10 * number + place)
    for number, system in enumerate(("Atlas", "Borealis", "Cygnus"))
    for place, what in enumerate(("spare fans", "old disks", "blank tapes", "power cords"))
]


def killed_at(fault: str) -> bool:
    return start(child.work, fault=fault).is_killed()


def what_was_said(workspace: Workspace) -> dict[str, Any]:
    """How trees are cut into summaries depends on when their passes ran."""
    seen = picture(workspace)
    leaves: Any = seen["leaves"]
    seen["leaves"] = sorted(((key, text, status) for key, text, status, _, _ in leaves), key=str)
    return {name: seen[name] for name in ("leaves", "events", "chunks", "sources")}


@pytest.mark.slow
@pytest.mark.parametrize(("at", "occurrence"), STRUCK)
def test_a_batch_that_is_cut_is_completed(tenant: Tenant, at: str, occurrence: int) -> None:
    turns = Turns()
    while claimed := turns.claim():  # what other tests left is not this worker's
        finish_jobs(claimed)
    clean, struck = small_workspace(tenant, "clean"), small_workspace(tenant, "struck")
    receive(clean, FACTS)
    drain(clean)
    receive(struck, FACTS)
    assert killed_at(f"{at}:kill@{occurrence}")
    with system_scope():
        attempts = Job.objects.filter(workspace=struck, topic="event.received")
        assert set(attempts.values_list("attempts", flat=True)) == {1}
    recover(struck)
    assert what_was_said(struck) == what_was_said(clean)
    receive(struck, FACTS)
    drain(struck)
    assert what_was_said(struck) == what_was_said(clean)
    assert_clean(struck)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at", "occurrence"),
    [
        ("seal.after_draft", 2),
        ("seal.after_file", 2),
        ("seal.before_swap", 2),
        ("seal.in_swap", 2),
        ("seal.after_swap", 2),
        ("seal.in_swap", 5),
    ],
)
def test_trees_that_are_sealed_side_by_side_survive_a_kill(
    tenant: Tenant, at: str, occurrence: int
) -> None:
    turns = Turns()
    while claimed := turns.claim():  # what other tests left is not this worker's
        finish_jobs(claimed)
    clean, struck = small_workspace(tenant, "clean"), small_workspace(tenant, "struck")
    receive(clean, TREES)
    drain(clean)
    receive(struck, TREES)
    assert killed_at(f"{at}:kill@{occurrence}")
    recover(struck)
    assert picture(struck) == picture(clean)
    assert_clean(struck)

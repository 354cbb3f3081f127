"""A change by a person whose process is killed anywhere changed nothing, and can be asked again."""

from collections.abc import Callable, Iterator
from itertools import count
from uuid import UUID, uuid4

import pytest

from holamem.database.scope import system_scope
from tests.faults.crash import picture
from tests.faults.processes import start
from tests.verification import assert_clean
from tests.workspaces.corrections import correct, forget, move, remember_all, restore, undo
from tests.workspaces.memory import ATLAS_FACTS, drain
from workspaces.models.tenancy import Audit, Workspace
from workspaces.services.placement import NewEntityPlan
from workspaces.services.tenants import create_tenant, create_workspace

CORRECTION = "The Atlas gateway listens on port 9443."
MARS = NewEntityPlan(type="system", name="Mars relay")
Act = Callable[[Workspace, UUID], object]


def corrected(workspace: Workspace, leaf_id: UUID) -> UUID:
    return correct(workspace, leaf_id, CORRECTION).audit_id


def forgotten(workspace: Workspace, leaf_id: UUID) -> UUID:
    return forget(workspace, leaf_id).audit_id


def restored(workspace: Workspace, leaf_id: UUID) -> UUID:
    return restore(workspace, leaf_id).audit_id


def moved(workspace: Workspace, leaf_id: UUID) -> UUID:
    return move(workspace, leaf_id, new=MARS).audit_id


# What is done first to the leaf, and the change that is then cut: of the leaf, or of the last
# entry of the audit log.
CHANGES: dict[str, tuple[list[Act], Act]] = {
    "correct": ([], corrected),
    "forget": ([], forgotten),
    "move": ([], moved),
    "restore": ([forgotten], restored),
    "undo a correction": ([corrected], undo),
    "undo a forgetting": ([forgotten], undo),
    "undo a restoring": ([forgotten, restored], undo),
    "undo a move": ([moved], undo),
}
# That the loop below comes by each of them is what makes it a loop over every point.
POINTS = {
    "correct": {"correct.after_file", "change.recorded"},
    "forget": {"forget.before_commit", "change.recorded"},
    "restore": {"restore.before_step", "change.recorded"},
    "move": {"move.after_files", "change.recorded"},
}


# These write the tree's sidecar between their commit and their answer: who is killed there has
# made the change.
MIRRORED = {"forget", "undo a restoring"}


def prepared(change: str) -> tuple[Workspace, UUID]:
    """Three leaves of which two have a summary, and what the change is made of."""
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
    workspace = create_workspace(tenant, slug="w", name="W", settings={"seal_threshold": 2})
    leaf_id, *_ = remember_all(workspace, *ATLAS_FACTS[:3])
    before, act = CHANGES[change]
    last = leaf_id
    for earlier in before:
        last = earlier(workspace, leaf_id)  # type: ignore[assignment]
        drain(workspace)
    return workspace, last if act is undo else leaf_id


def make(change: str, workspace_id: UUID, target_id: UUID) -> None:
    """Runs in the process that is killed."""
    with system_scope():
        workspace = Workspace.objects.select_related("tenant").get(id=workspace_id)
    CHANGES[change][1](workspace, target_id)


def memory_of(workspace: Workspace) -> dict[str, object]:
    with system_scope():
        audits = Audit.objects.filter(workspace=workspace).order_by("id")
        actions = list(audits.values_list("action", flat=True))
    return picture(workspace) | {"audits": actions}


def made(change: str, workspace: Workspace, target_id: UUID) -> dict[str, object]:
    CHANGES[change][1](workspace, target_id)
    drain(workspace)
    assert_clean(workspace)
    return memory_of(workspace)


def struck_at(change: str, fault: str) -> dict[str, object] | None:
    """Memory in the end when the process was killed there; None when it was not."""
    workspace, target_id = prepared(change)
    before = memory_of(workspace)
    if not start(make, change, workspace.pk, target_id, fault=fault).is_killed():
        return None
    if change in MIRRORED and memory_of(workspace) != before:
        drain(workspace)
        assert_clean(workspace)
        return memory_of(workspace)
    assert memory_of(workspace) == before
    return made(change, workspace, target_id)


def struck_everywhere(change: str) -> Iterator[dict[str, object]]:
    for occurrence in count(1):
        after = struck_at(change, f"any:kill@{occurrence}")
        if after is None:
            return
        yield after


@pytest.mark.slow
def test_a_correction_that_was_all_but_committed_is_made_when_it_is_asked_again() -> None:
    assert struck_at("correct", "change.recorded:kill") == made("correct", *prepared("correct"))


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_is_killed_anywhere_changes_nothing_and_can_be_repeated(change: str) -> None:
    clean = made(change, *prepared(change))
    ends = list(struck_everywhere(change))
    assert len(ends) >= len(POINTS.get(change, {"change.recorded"}))
    for after in ends:
        assert after == clean

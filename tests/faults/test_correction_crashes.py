"""A change by a person that breaks off anywhere changes nothing, and can be asked for again."""

from collections.abc import Callable
from uuid import UUID

import pytest

from holamem import faults
from tests.faults.crash import picture
from tests.verification import assert_clean
from tests.workspaces.corrections import correct, forget, remember_all, restore
from tests.workspaces.memory import drain
from workspaces.models.tenancy import Workspace

FACT = "The Atlas gateway listens on port 8443."
CHANGES: dict[str, Callable[[Workspace, UUID], object]] = {
    "correct.after_file": lambda workspace, leaf: correct(
        workspace, leaf, "The Atlas gateway listens on port 9443."
    ),
    "forget.before_commit": forget,
    "restore.before_step": restore,
}
POINTS = [(at, 1) for at in CHANGES]


@pytest.mark.parametrize("at", CHANGES)
def test_a_change_that_breaks_off_changes_nothing_and_can_be_repeated(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    [leaf_id] = remember_all(workspace, FACT)
    if at.startswith("restore"):
        forget(workspace, leaf_id)
        drain(workspace)
    before = picture(workspace)
    reached = []

    def point(name: str) -> None:
        if name == at:
            reached.append(name)
            raise faults.InjectedFault(name)

    with monkeypatch.context() as broken:
        broken.setattr(faults, "point", point)
        with pytest.raises(faults.InjectedFault):
            CHANGES[at](workspace, leaf_id)
    assert reached == [at]
    assert picture(workspace) == before
    CHANGES[at](workspace, leaf_id)
    drain(workspace)
    assert picture(workspace) != before
    assert_clean(workspace)

"""An erasure that is killed at any point ends all the same, and nothing of it is ever read."""

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.faults.crash import is_killed_at, recover
from tests.verification import assert_clean
from tests.workspaces.erasing import (
    SEAL_THRESHOLD,
    english,
    erase,
    erased,
    leaf_of,
    sealed_memory,
    workspace_of,
)
from tests.workspaces.memory import draft, drain, remember
from tests.workspaces.traces import assert_no_trace, english_canary, tables_holding
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.erasure.receipts import receipt

# The request itself runs in the caller's process; the others in the worker's.
REQUEST_POINTS = [("erase.requested", 1)]
SAMPLED = [("erase.after_files", 1)]
REST = [
    ("erase.late_ones_taken", 1),
    ("erase.after_journal", 1),
    ("erase.after_commit", 1),
    ("erase.taken_up", 1),
    ("erase.after_traces", 1),
    ("erase.before_commit", 1),
]


def assert_survives(tenant: Tenant, *, at: str) -> None:
    assert SEAL_THRESHOLD == 2
    workspace, word, name = workspace_of(tenant), english_canary(), english_canary()
    leaf_id = sealed_memory(workspace, english(word))
    [other] = remember(workspace, draft(f"{name} owns the payroll system.", minutes=50))
    receipts = [erase(workspace, leaf_id), erase(workspace, leaf_of(other))]
    assert is_killed_at(workspace, at), f"{at} was not reached"
    assert tables_holding(word) == []
    recover(workspace)
    assert_no_trace(word, name)
    for asked in receipts:
        done = receipt(workspace, scopes=ALL_SCOPES, erasure_id=asked.erasure_id)
        assert done.status == "complete"
        assert done.leaves == 1
    assert erase(workspace, leaf_id).erasure_id == receipts[0].erasure_id
    drain(workspace)
    assert_clean(workspace)


@pytest.mark.parametrize(("at", "occurrence"), SAMPLED)
def test_a_killed_erasure_is_ended_by_the_next_worker(
    tenant: Tenant, at: str, occurrence: int
) -> None:
    assert_survives(tenant, at=at)


@pytest.mark.slow
@pytest.mark.parametrize(("at", "occurrence"), REST)
def test_every_other_point_of_an_erasure_is_survived_too(
    tenant: Tenant, at: str, occurrence: int
) -> None:
    assert_survives(tenant, at=at)


def test_a_request_that_fails_changes_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holamem import faults

    word = english_canary()
    [result] = remember(workspace, draft(english(word)))

    def point(name: str) -> None:
        if name == "erase.requested":
            raise faults.InjectedFault(name)

    monkeypatch.setattr(faults, "point", point)
    with pytest.raises(faults.InjectedFault):
        erase(workspace, leaf_of(result))
    monkeypatch.undo()
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.leaves.get().status == "active"
        assert not workspace.erasures.exists()
    assert_clean(workspace)
    erased(workspace, leaf_of(result))
    assert_no_trace(word)


@pytest.mark.slow
@pytest.mark.parametrize(
    "at",
    [
        pytest.param("body.before_rename", marks=pytest.mark.slow),
        "leaf.after_file",
        pytest.param("seal.after_file", marks=pytest.mark.slow),
    ],
)
def test_files_that_a_killed_worker_left_go_with_the_leaf(tenant: Tenant, at: str) -> None:
    """A worker died between a file and its row; the next one wrote the text again."""
    from tests.workspaces.memory import ATLAS_FACTS, principal_of
    from workspaces.services.intake import receive_events

    workspace, word = workspace_of(tenant), english_canary()
    remember(workspace, *[draft(fact, minutes=n) for n, fact in enumerate(ATLAS_FACTS[:3])])
    receive_events(
        workspace,
        drafts=[draft(english(word), minutes=9)],
        principal=principal_of(workspace),
    )
    assert is_killed_at(workspace, at), f"{at} was not reached"
    recover(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        leaf_id = workspace.leaves.get(title__contains=word).id
    erased(workspace, leaf_id)
    assert_no_trace(word)
    assert_clean(workspace)

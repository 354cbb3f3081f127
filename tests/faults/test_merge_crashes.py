"""A worker that is killed in the middle of a merge, its undo or a refresh loses nothing."""

import pytest

from tests.faults.crash import is_killed_at, picture, recover
from tests.verification import assert_clean
from tests.workspaces.entities import (
    ATLAS,
    ATLAS_TEXTS,
    BOREALIS,
    BOREALIS_TEXTS,
    SPEAKS_OF_BOREALIS,
    entity,
    found_by_words,
    last_merge,
    merge,
    remember_gateways,
    rename,
    speaking_of,
    texts_of,
    undo,
)
from tests.workspaces.memory import drain
from workspaces.models.merges import EntityMerge
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.tenants import create_workspace

MERGE_POINTS = [
    "body.before_rename",
    "move.after_files",
    "merge.before_commit",
    "merge.after_commit",
    "merge.mentions",
    "merge.before_finish",
]
UNDO_POINTS = ["move.after_files", "unmerge.before_commit"]
NAME_POINTS = ["names.read", "names.before_commit"]
SAMPLED = [
    pytest.param(at, marks=() if at == "merge.before_commit" else pytest.mark.slow)
    for at in MERGE_POINTS
]
POINTS = [(at, 1) for at in (*MERGE_POINTS, *UNDO_POINTS, *NAME_POINTS)]


@pytest.fixture
def gateways(tenant: Tenant) -> Workspace:
    """Trees of two leaves are sealed, so that a merge empties summaries as well."""
    made = create_workspace(tenant, slug="struck", name="Struck", settings={"seal_threshold": 2})
    remember_gateways(made)
    return made


def assert_merged(workspace: Workspace) -> None:
    assert texts_of(workspace, ATLAS) == sorted([*ATLAS_TEXTS, *BOREALIS_TEXTS])
    assert texts_of(workspace, BOREALIS) == []
    assert speaking_of(workspace, ATLAS) == [SPEAKS_OF_BOREALIS]
    merge_row = last_merge(workspace)
    assert (merge_row.state, merge_row.leaves_done) == ("done", len(BOREALIS_TEXTS))


@pytest.mark.parametrize("at", SAMPLED)
def test_a_merge_is_completed_by_the_next_worker(gateways: Workspace, at: str) -> None:
    merge(gateways, BOREALIS, ATLAS)
    assert is_killed_at(gateways, at), f"{at} was not reached"
    recover(gateways)
    assert_merged(gateways)
    after = picture(gateways)
    merge(gateways, BOREALIS, ATLAS)  # the caller that never saw an answer asks again
    drain(gateways)
    assert picture(gateways) == after
    assert_clean(gateways)


@pytest.mark.slow
@pytest.mark.parametrize("at", UNDO_POINTS)
def test_an_undo_is_completed_by_the_next_worker(gateways: Workspace, at: str) -> None:
    merged = merge(gateways, BOREALIS, ATLAS)
    drain(gateways)
    undo(gateways, merged)
    assert is_killed_at(gateways, at), f"{at} was not reached"
    recover(gateways)
    assert texts_of(gateways, ATLAS) == sorted(ATLAS_TEXTS)
    assert texts_of(gateways, BOREALIS) == sorted(BOREALIS_TEXTS)
    assert speaking_of(gateways, BOREALIS) == [SPEAKS_OF_BOREALIS]
    assert last_merge(gateways).state == EntityMerge.State.UNDONE


@pytest.mark.slow
@pytest.mark.parametrize("at", NAME_POINTS)
def test_a_refresh_is_completed_by_the_next_worker(gateways: Workspace, at: str) -> None:
    rename(gateways, BOREALIS, "Polar gateway")
    assert is_killed_at(gateways, at), f"{at} was not reached"
    recover(gateways)
    assert entity(gateways, BOREALIS).names_indexed_to is None
    everything = sorted([*BOREALIS_TEXTS, SPEAKS_OF_BOREALIS])
    assert found_by_words(gateways, "polar gateway") == everything

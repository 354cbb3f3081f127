"""A forgotten leaf of a source comes back only while the source still says it."""

import pytest

from holamem.errors import Conflict
from tests.verification import assert_clean
from tests.workspaces.corrections import forget, leaf_row, restore
from tests.workspaces.memory import draft, drain, remember
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import EventDraft


def record(text: str, **values: object) -> EventDraft:
    given = {"kind": "integration_record", "source": "github", "provider": "github"}
    return draft(text, **{**given, "account": "repo-atlas", "external_id": "issue-1", **values})


def test_a_leaf_that_its_source_deleted_or_no_longer_says_is_not_restored(
    workspace: Workspace,
) -> None:
    words = "Issue 1: the Atlas gateway leaks memory."
    [result] = remember(workspace, record(words))
    leaf_id = result.chunks[0].leaf_id
    assert leaf_id is not None
    forget(workspace, leaf_id)
    gone = record("", kind="sync_item", deleted=True, minutes=10)
    remember(workspace, gone)
    with pytest.raises(Conflict) as refused:
        restore(workspace, leaf_id)
    assert refused.value.detail["code"] == "deleted_at_source"
    remember(workspace, record(words, external_id="issue-2", minutes=20))
    with pytest.raises(Conflict) as refused:
        restore(workspace, leaf_id)
    assert refused.value.detail["code"] in ("same_text", "deleted_at_source")
    assert leaf_row(workspace, leaf_id).status == "inactive"
    drain(workspace)
    assert_clean(workspace)


@pytest.mark.slow
def test_a_part_that_its_object_no_longer_has_is_not_restored(workspace: Workspace) -> None:
    parts = [
        " ".join(f"Rule {n} of part {part} is kept in table {n}." for n in range(40))
        for part in ("one", "two")
    ]
    [result] = remember(workspace, record("\n\n".join(parts)))
    first, *_, last = [chunk.leaf_id for chunk in result.chunks]
    assert first != last
    assert last is not None
    forget(workspace, last)
    remember(workspace, record(parts[0], minutes=10))
    with pytest.raises(Conflict) as refused:
        restore(workspace, last)
    assert refused.value.detail["code"] == "changed_at_source"
    drain(workspace)
    assert_clean(workspace)

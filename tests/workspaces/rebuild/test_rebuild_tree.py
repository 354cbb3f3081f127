"""All summaries of a tree are written again while readers go on reading."""

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, eraser_scope, workspace_scope
from holamem.errors import NotFound
from tests.verification import assert_clean
from tests.workspaces.memory import (
    ATLAS_FACTS,
    draft,
    drain,
    principal_of,
    remember,
    unfinished_jobs,
)
from workspaces.models.tenancy import Workspace
from workspaces.services import sealing
from workspaces.services.rebuild import trees
from workspaces.services.rebuild.trees import TreeRebuild, rebuild_tree
from workspaces.services.tenants import update_workspace

KEY = "interaction:atlas-gateway"


@pytest.fixture
def memory(workspace: Workspace) -> Workspace:
    """Ten leaves: three full summaries, a provisional root, and one leaf in the buffer."""
    changed = update_workspace(workspace, settings={"seal_threshold": 3})
    remember(changed, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:10])])
    return changed


def rebuild(workspace: Workspace, key: str = KEY) -> TreeRebuild:
    return rebuild_tree(
        workspace, principal=principal_of(workspace), scopes=[workspace.id], key=key
    )


def live(workspace: Workspace) -> list[tuple[object, ...]]:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.summaries.exclude(status="retired").order_by("height", "time_range_start")
        return list(
            rows.values_list("id", "height", "level", "leaf_count", "is_root", "body_sha256")
        )


def test_every_summary_is_written_again_in_its_place(memory: Workspace) -> None:
    before = live(memory)
    queued = rebuild(memory)
    assert queued.summaries == len(before)
    drain(memory)
    after = live(memory)
    assert [row[1:5] for row in after] == [row[1:5] for row in before]
    assert not {row[0] for row in after} & {row[0] for row in before}
    assert unfinished_jobs(memory) == []
    assert_clean(memory)


def test_a_reader_finds_a_root_at_every_step(
    memory: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild(memory)
    seen = []
    perform = sealing.perform

    def look_after_each_step(*args: object, **values: object) -> object:
        done = perform(*args, **values)  # type: ignore[arg-type]
        with workspace_scope(memory, ALL_SCOPES):
            tree = memory.trees.select_related("root").get(key=KEY)
            assert tree.root is not None
            seen.append(tree.root.status)
            active = memory.leaves.filter(tree=tree, status="active")
            assert active.exclude(parent=None).exclude(parent__status="retired").count() == 9
        return done

    monkeypatch.setattr(sealing, "perform", look_after_each_step)
    drain(memory)
    assert (seen[0], seen[-1]) == ("stale", "sealed")
    assert set(seen) <= {"stale", "sealed"}


def test_search_entries_come_back(memory: Workspace) -> None:
    with eraser_scope(), connection.cursor() as cursor:
        for table in ("lexemeentry", "vectorentry"):
            cursor.execute(f"DELETE FROM workspaces_{table} WHERE workspace_id = %s", [memory.pk])
    rebuild(memory)
    drain(memory)
    assert_clean(memory)


def test_a_long_walk_over_the_entries_goes_on_where_it_was(
    memory: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "PASS_SECONDS", 0)
    walked = []
    reindex_node = trees.reindex_node

    def note(workspace: Workspace, *, node_id: object) -> bool:
        walked.append(node_id)
        return reindex_node(workspace, node_id=node_id)  # type: ignore[arg-type]

    monkeypatch.setattr(trees, "reindex_node", note)
    rebuild(memory)
    drain(memory)
    assert walked == sorted(set(walked))
    assert len(walked) == 10 + len(live(memory))


def test_it_is_audited(memory: Workspace) -> None:
    queued = rebuild(memory)
    drain(memory)
    with workspace_scope(memory, ALL_SCOPES):
        entry = memory.audit_entries.get(id=queued.audit_id)
    assert (entry.action, entry.detail["tree"]) == ("tree.rebuilt", KEY)


def test_a_quarantined_summary_stays_unread(memory: Workspace) -> None:
    with workspace_scope(memory, ALL_SCOPES):
        hidden = memory.summaries.filter(height=1).first()
        assert hidden is not None
        memory.summaries.filter(id=hidden.id).update(status="quarantined", withheld=True)
    rebuild(memory)
    with workspace_scope(memory, ALL_SCOPES):
        assert memory.summaries.get(id=hidden.id).status == "quarantined"
    drain(memory)
    with workspace_scope(memory, ALL_SCOPES):
        assert memory.summaries.get(id=hidden.id).withheld
    assert_clean(memory)


def test_an_unknown_tree_is_not_found(memory: Workspace) -> None:
    with pytest.raises(NotFound):
        rebuild(memory, key="interaction:nobody")

"""What a chunk is to the leaves of its tree: known, newer, older, or new."""

from datetime import timedelta
from uuid import UUID

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.workspaces.memory import ATLAS_FACTS, MORNING, draft, drain, remember
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf

MONDAY = "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00."
TUESDAY = "The deployment window of the Atlas gateway is now Tuesday from 10:00 to 12:00."
周一 = "支付网关的发布窗口是周一上午十点。"
周二 = "支付网关的发布窗口现在改为周二上午十点。"


def leaf_of(workspace: Workspace, leaf_id: UUID | None) -> SourceLeaf:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.leaves.get(id=leaf_id)


def test_a_newer_value_supersedes_the_older_one(workspace: Workspace) -> None:
    for before, after in ((MONDAY, TUESDAY), (周一, 周二)):
        old, new = remember(workspace, draft(before), draft(after, minutes=60))
        assert new.chunks[0].outcome == "superseding"
        assert new.chunks[0].tree_id == old.chunks[0].tree_id
        older = leaf_of(workspace, old.chunks[0].leaf_id)
        newer = leaf_of(workspace, new.chunks[0].leaf_id)
        assert (older.status, older.superseded_by_id) == ("superseded", newer.id)
        assert older.valid_until == newer.observed_at
        assert newer.supersedes_leaf_id == older.id


def test_older_information_that_arrives_late_becomes_history(workspace: Workspace) -> None:
    current, late = remember(workspace, draft(TUESDAY, minutes=60), draft(MONDAY))
    assert late.chunks[0].outcome == "created"
    older = leaf_of(workspace, late.chunks[0].leaf_id)
    newer = leaf_of(workspace, current.chunks[0].leaf_id)
    assert newer.status == "active"
    assert (older.status, older.superseded_by_id, older.parent_id) == ("superseded", newer.id, None)
    assert older.valid_until == newer.observed_at


def test_what_was_stated_again_since_is_not_replaced_by_older_information(
    workspace: Workspace,
) -> None:
    remember(workspace, draft(MONDAY), draft(MONDAY, minutes=120))
    [late] = remember(workspace, draft(TUESDAY, minutes=60))
    assert leaf_of(workspace, late.chunks[0].leaf_id).status == "superseded"
    with workspace_scope(workspace, ALL_SCOPES):
        [current] = workspace.leaves.filter(status="active")
    assert current.superseded_by_id is None
    assert current.observed_at == MORNING


def test_a_value_that_comes_back_is_a_third_leaf(workspace: Workspace) -> None:
    results = remember(
        workspace,
        draft(MONDAY),
        draft(TUESDAY, minutes=60),
        draft(MONDAY.replace(" is ", " is now "), minutes=120),
    )
    leaves = [leaf_of(workspace, result.chunks[0].leaf_id) for result in results]
    assert [leaf.status for leaf in leaves] == ["superseded", "superseded", "active"]
    assert len({leaf.id for leaf in leaves}) == 3


def test_a_re_import_of_a_superseded_text_adds_nothing(workspace: Workspace) -> None:
    first, _ = remember(workspace, draft(MONDAY), draft(TUESDAY, minutes=60))
    [again] = remember(workspace, draft(MONDAY, external_id="imported-1", source="import"))
    assert again.chunks[0].outcome == "noop_duplicate"
    assert again.chunks[0].leaf_id == first.chunks[0].leaf_id


def test_unrelated_facts_never_retire_each_other(workspace: Workspace) -> None:
    results = remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS)])
    assert {result.chunks[0].outcome for result in results} == {"created"}


@pytest.mark.slow
def test_superseding_a_sealed_leaf_replaces_every_summary_above_it(workspace: Workspace) -> None:
    remember(workspace, draft(MONDAY))
    remember(workspace, *[draft(text, minutes=n + 1) for n, text in enumerate(ATLAS_FACTS[:16])])
    [changed] = remember(workspace, draft(TUESDAY, minutes=600))
    assert changed.chunks[0].outcome == "superseding"
    with workspace_scope(workspace):
        live = workspace.summaries.filter(tree_id=changed.chunks[0].tree_id).exclude(
            status="retired"
        )
        assert set(live.values_list("status", flat=True)) == {"sealed"}
        covered = {child for node in live.filter(height=1) for child in node.child_ids}
        old = workspace.leaves.get(status="superseded")
        assert old.id not in covered
        root = workspace.trees.get(id=changed.chunks[0].tree_id).root
        assert root is not None
        assert root.is_root


def test_a_private_fact_does_not_touch_the_shared_one(workspace: Workspace) -> None:
    shared, private = remember(
        workspace, draft(MONDAY), draft(TUESDAY, minutes=60, user_id="customer-7")
    )
    assert private.chunks[0].outcome == "created"
    assert private.chunks[0].tree_key == shared.chunks[0].tree_key
    assert private.chunks[0].tree_id != shared.chunks[0].tree_id
    leaf = leaf_of(workspace, private.chunks[0].leaf_id)
    assert "/users/customer-7/interaction/" in leaf.body_path


def test_a_revision_of_an_integration_object_supersedes_without_a_judge(
    workspace: Workspace,
) -> None:
    page = {
        "kind": "document_revision",
        "provider": "wiki",
        "account": "team",
        "external_id": "page-1",
    }
    first, second = remember(
        workspace,
        draft("Runbook: restart with `systemctl restart atlas`.", **page),
        draft("Runbook: restart with `atlasctl restart`.", minutes=30, **page),
    )
    assert second.chunks[0].outcome == "superseding"
    assert second.chunks[0].tree_key == "wiki:team"
    assert leaf_of(workspace, first.chunks[0].leaf_id).status == "superseded"
    [replay] = remember(
        workspace, draft("Runbook: restart with `atlasctl restart`.", minutes=90, **page)
    )
    assert replay.event_id == second.event_id


def test_running_the_jobs_again_changes_nothing(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:9])])
    with workspace_scope(workspace):
        before = sorted(workspace.summaries.values_list("id", "status", "parent_id"))
        tree = workspace.trees.get()
    from workspaces.services.topology import request_seal

    with workspace_scope(workspace):
        request_seal(workspace, tree=tree)
    assert drain(workspace) == 1
    with workspace_scope(workspace):
        assert sorted(workspace.summaries.values_list("id", "status", "parent_id")) == before


def test_observation_time_is_the_event_time(workspace: Workspace) -> None:
    [result] = remember(workspace, draft(MONDAY, occurred_at=MORNING - timedelta(days=400)))
    assert leaf_of(workspace, result.chunks[0].leaf_id).observed_at == MORNING - timedelta(days=400)

"""Full buffers are sealed upward; the root is always one node; files follow the levels."""

from pathlib import Path
from typing import Any

import pytest

from holamem.database.scope import system_scope, workspace_scope
from holamem.errors import ProviderError
from tests.verification import assert_clean
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from workspaces.bodies import body_storage, read_markdown
from workspaces.judging.base import Judge, SummaryDraft
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.trees import SummaryNode, Tree
from workspaces.services import seal_files, sealing
from workspaces.services.seal_plan import Step
from workspaces.services.summaries import CITATION, without_citations
from workspaces.services.tenants import create_workspace, update_workspace


def narrow_workspace(tenant: Tenant, *, slug: str) -> Workspace:
    """Seals by two, so that a few leaves make a high tree."""
    return create_workspace(tenant, slug=slug, name="Narrow", settings={"seal_threshold": 2})


def the_tree(workspace: Workspace) -> Tree:
    with workspace_scope(workspace):
        return workspace.trees.select_related("root").get(key="interaction:atlas-gateway")


def live_nodes(workspace: Workspace) -> list[SummaryNode]:
    with workspace_scope(workspace):
        return list(workspace.summaries.exclude(status="retired").order_by("height", "id"))


def test_no_summary_below_the_threshold(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:7])])
    tree = the_tree(workspace)
    assert (tree.leaf_count, tree.root, tree.height) == (7, None, 0)
    assert live_nodes(workspace) == []


def test_the_first_full_buffer_is_the_root(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:8])])
    tree = the_tree(workspace)
    assert tree.root is not None
    assert (tree.height, tree.root.level, tree.root.provisional) == (1, 1, False)


def test_the_oldest_observations_are_sealed_first(workspace: Workspace) -> None:
    texts = ATLAS_FACTS[:9]
    remember(workspace, *[draft(text, minutes=-n) for n, text in enumerate(texts)])
    with workspace_scope(workspace):
        buffered = workspace.leaves.get(parent=None)
    assert read_markdown(buffered.body_path) == texts[0]


def test_trees_are_sealed_side_by_side(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = narrow_workspace(tenant, slug="beside")
    texts = [
        f"The {name} gateway keeps {what}."
        for name in ("Atlas", "Borealis", "Cygnus")
        for what in ("spare fans", "old disks", "blank tapes", "power cords")
    ]
    sizes, perform = list[int](), sealing.perform

    def watched(workspace: Workspace, **asked: Any) -> None:
        sizes.append(len(asked["steps"]))
        perform(workspace, **asked)

    monkeypatch.setattr(sealing, "perform", watched)
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(texts)])
    assert sizes == [3, 3, 3]
    assert [node.height for node in live_nodes(workspace)] == [1] * 6 + [2] * 3
    assert_clean(workspace)


def test_what_stops_one_of_several_trees_stops_no_other(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = narrow_workspace(tenant, slug="stopped")
    draft_summary = seal_files.draft_summary

    def fail_for_one(step: Step, *, judge: Judge) -> SummaryDraft:
        if step.tree.key == "interaction:borealis-gateway":
            raise ProviderError("out", retryable=True)
        return draft_summary(step, judge=judge)

    texts = [
        f"The {name} gateway keeps {what}."
        for name in ("Atlas", "Borealis", "Cygnus")
        for what in ("spare fans", "old disks")
    ]
    with monkeypatch.context() as patch:
        patch.setattr(seal_files, "draft_summary", fail_for_one)
        remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(texts)])
        assert len(live_nodes(workspace)) == 2
    with system_scope():
        workspace.jobs.filter(state="ready").update(next_try_at="2026-01-01T00:00:00Z")
    drain(workspace)
    assert len(live_nodes(workspace)) == 3
    assert_clean(workspace)


def test_a_tree_grows_with_its_files(tenant: Tenant) -> None:
    workspace = narrow_workspace(tenant, slug="grow")
    for count, height in ((2, 1), (4, 2), (6, 3), (8, 3), (10, 4)):
        done = 0 if count == 2 else count - 2
        remember(
            workspace,
            *[draft(text, minutes=done + n) for n, text in enumerate(ATLAS_FACTS[done:count])],
        )
        tree = the_tree(workspace)
        assert tree.height == height
        for node in live_nodes(workspace):
            assert node.status == "sealed"
            assert node.level == height - node.height + 1
            assert f"/summaries/L{node.level}/" in node.body_path
            assert read_markdown(node.body_path, sha256=node.body_sha256)
        assert [node.id for node in live_nodes(workspace) if node.is_root] == [tree.root_id]


def test_every_leaf_is_below_the_root_or_in_the_buffer(tenant: Tenant) -> None:
    workspace = narrow_workspace(tenant, slug="cover")
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:11])])
    tree = the_tree(workspace)
    with workspace_scope(workspace):
        leaves = list(workspace.leaves.filter(status="active"))
        above = dict(workspace.summaries.values_list("id", "parent_id"))
    for leaf in leaves:
        node = leaf.parent_id
        while node is not None and above[node] is not None:
            node = above[node]
        assert node in (tree.root_id, None)
    assert sum(leaf.parent_id is None for leaf in leaves) == 1


def test_a_summary_says_only_what_its_children_say_and_cites_them(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:16])])
    for node in live_nodes(workspace):
        body = read_markdown(node.body_path, sha256=node.body_sha256)
        assert {str(child) for child in node.child_ids} >= set(CITATION.findall(body))
        for line in without_citations(body).splitlines():
            assert line.removeprefix("- ").strip() in ATLAS_FACTS


@pytest.mark.slow
def test_a_body_that_gave_way_is_kept_for_a_day(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:16])])
    with workspace_scope(workspace):
        kept = list(workspace.retired_bodies.values_list("path", flat=True))
    assert kept
    root = Path(body_storage().path(""))
    assert all((root / path).is_file() for path in kept)


def test_a_lower_threshold_seals_what_is_full_now(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:4])])
    update_workspace(workspace, settings={"seal_threshold": 4})
    assert drain(workspace) > 0
    assert the_tree(workspace).height == 1


def test_private_and_shared_leaves_never_meet_in_a_summary(tenant: Tenant) -> None:
    workspace = narrow_workspace(tenant, slug="apart")
    remember(
        workspace,
        *[
            draft(text, minutes=n, user_id="ada" if n % 2 else None)
            for n, text in enumerate(ATLAS_FACTS[:8])
        ],
    )
    from holamem.database.scope import ALL_SCOPES

    with workspace_scope(workspace, ALL_SCOPES):
        scopes = dict(workspace.leaves.values_list("id", "scope_id"))
        summaries = list(workspace.summaries.filter(child_kind="leaf"))
    assert len({node.scope_id for node in summaries}) == 2
    for node in summaries:
        assert {scopes[child] for child in node.child_ids} == {node.scope_id}

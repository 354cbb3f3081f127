"""An event becomes chunks, an admitted chunk becomes one leaf in one tree."""

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.workspaces.memory import ATLAS_FACTS, draft, remember, unfinished_jobs
from workspaces.bodies import read_front_matter, read_markdown
from workspaces.models.tenancy import Workspace
from workspaces.recall_mark import close_fence, open_fence


def test_an_admitted_chunk_becomes_a_leaf_with_its_text_on_disk(workspace: Workspace) -> None:
    [result] = remember(workspace, draft("The Atlas gateway listens on port 8443."))
    assert result.status == "processed", result.error
    [chunk] = result.chunks
    assert (chunk.outcome, chunk.tree_key) == ("created", "interaction:atlas-gateway")
    with workspace_scope(workspace, ALL_SCOPES):
        leaf = workspace.leaves.select_related("tree").get(id=chunk.leaf_id)
        assert leaf.tree.leaf_count == 1
    assert read_markdown(leaf.body_path, sha256=leaf.body_sha256) == (
        "The Atlas gateway listens on port 8443."
    )
    assert read_front_matter(leaf.body_path)["tree"] == "interaction:atlas-gateway"
    assert unfinished_jobs(workspace) == []


def test_the_same_text_again_adds_a_source_and_no_leaf(workspace: Workspace) -> None:
    first, second = remember(
        workspace,
        draft("The Atlas gateway listens on port 8443."),
        draft("The  Atlas gateway listens on port 8443.", minutes=5),
    )
    assert second.chunks[0].outcome == "noop_duplicate"
    assert second.chunks[0].leaf_id == first.chunks[0].leaf_id
    with workspace_scope(workspace):
        assert workspace.leaf_sources.filter(leaf_id=first.chunks[0].leaf_id).count() == 2


def test_full_buffers_seal_into_two_levels_under_one_root(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:17])])
    with workspace_scope(workspace):
        tree = workspace.trees.get(key="interaction:atlas-gateway")
        live = workspace.summaries.filter(tree=tree, status="sealed")
        shape = sorted(live.values_list("height", "level", "is_root", "provisional"))
    assert shape == [(1, 2, False, False), (1, 2, False, False), (2, 1, True, True)]
    assert unfinished_jobs(workspace) == []


def test_a_long_recalled_pack_is_rejected_in_every_chunk(workspace: Workspace) -> None:
    lines = [f"- {fact} [E{number}]" for number, fact in enumerate(ATLAS_FACTS * 4)]
    pack = "\n\n".join([open_fence("a1b2"), *lines, close_fence("a1b2")])
    [result] = remember(workspace, draft(f"{pack}\n\nMara Lindqvist owns the Atlas gateway."))
    outcomes = [(chunk.outcome, chunk.reason) for chunk in result.chunks]
    assert len(outcomes) > 2
    assert set(outcomes[:-1]) == {("rejected", "recalled")}

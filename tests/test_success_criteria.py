"""What durable memory has to be, whatever else changes: one test for each criterion."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.storage import storages
from django.db import connection

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from retrieval.answer import RetrieveAnswer
from retrieval.definitions import RetrieveRequest
from retrieval.retrieve import retrieve
from tests.agents.talking import model_server, open_session, say, work_off
from tests.streamed import says
from tests.verification import assert_clean, errors_of
from tests.workspaces.memory import ATLAS_FACTS, draft, remember
from workspaces.bodies import read_front_matter, read_markdown
from workspaces.index.embedding import current_model
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree
from workspaces.services.intake import EventDraft
from workspaces.services.reindexing import reembed_workspace, reindex_workspace

TICKET = "Ticket ATLAS-17: the Atlas gateway must move to port 9443 before the audit."


def record(text: str, *, external_id: str, minutes: int = 0) -> EventDraft:
    return draft(
        text,
        minutes=minutes,
        kind="integration_record",
        category="integration",
        provider="jira",
        account="platform",
        external_id=external_id,
    )


@pytest.fixture
def both_categories(workspace: Workspace) -> Workspace:
    """Seventeen conversation facts, of which sixteen are sealed, and one fetched record."""
    talk = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:17])]
    remember(workspace, *talk, record(TICKET, external_id="ATLAS-17", minutes=30))
    return workspace


def ask(workspace: Workspace, query: str) -> RetrieveAnswer:
    return retrieve(workspace, scopes=None, request=RetrieveRequest(query=query))


def leaves_of(workspace: Workspace) -> list[SourceLeaf]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.leaves.select_related("tree"))


def trees_of(workspace: Workspace) -> list[Tree]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.trees.order_by("category", "key"))


def durable_nodes(workspace: Workspace) -> Iterator[SourceLeaf | SummaryNode]:
    with workspace_scope(workspace, ALL_SCOPES):
        yield from list(workspace.leaves.all())
        yield from list(workspace.summaries.all())


def body_root(workspace: Workspace) -> Path:
    [root] = {Path(*Path(node.body_path).parts[:2]) for node in durable_nodes(workspace)}
    return Path(storages["bodies"].path(str(root)))


def test_one_root_holds_the_whole_workspace_with_its_trees_by_category(
    both_categories: Workspace,
) -> None:
    keys = [(tree.category, tree.key) for tree in trees_of(both_categories)]
    assert keys == [
        ("integration", "jira:platform"),
        ("interaction", "interaction:atlas-gateway"),
    ]
    assert body_root(both_categories).is_dir()
    with workspace_scope(both_categories, ALL_SCOPES):
        roots = Counter(
            both_categories.summaries.filter(is_root=True).values_list("tree__key", flat=True)
        )
    assert roots == {"interaction:atlas-gateway": 1}


def test_each_source_leaf_is_in_exactly_one_tree(both_categories: Workspace) -> None:
    leaves = leaves_of(both_categories)
    assert len(leaves) == 18
    assert len({leaf.chunk_id for leaf in leaves}) == 18
    assert Counter(leaf.tree.key for leaf in leaves) == {
        "interaction:atlas-gateway": 17,
        "jira:platform": 1,
    }
    assert len({leaf.body_path for leaf in leaves}) == 18
    assert all(leaf.parent_id is None or leaf.category == "interaction" for leaf in leaves)
    assert_clean(both_categories)


def test_a_leaf_under_a_summary_of_another_tree_is_an_error(both_categories: Workspace) -> None:
    leaves = leaves_of(both_categories)
    [foreign] = [leaf for leaf in leaves if leaf.category == "integration"]
    parent = next(leaf.parent_id for leaf in leaves if leaf.parent_id)
    with system_scope():
        SourceLeaf.objects.filter(id=foreign.id).update(parent_id=parent)
    assert f"node:{foreign.id}" in {finding.object for finding in errors_of(both_categories)}


def test_every_durable_node_is_a_markdown_document(both_categories: Workspace) -> None:
    nodes = list(durable_nodes(both_categories))
    assert {type(node) for node in nodes} == {SourceLeaf, SummaryNode}
    for node in nodes:
        assert node.body_path.endswith(".md")
        assert read_markdown(node.body_path, sha256=node.body_sha256).strip()
        assert read_front_matter(node.body_path)["id"] == str(node.id)


def test_recall_needs_no_generated_index_document(both_categories: Workspace) -> None:
    names = {path.name.casefold() for path in body_root(both_categories).rglob("*")}
    assert not names & {"memory.md", "index.md", "readme.md"}
    before = ask(both_categories, "Which port does the Atlas gateway listen on?")
    drop_search_index(both_categories)
    assert ask(both_categories, "Which port does the Atlas gateway listen on?").evidence == ()
    reindex_workspace(both_categories)
    reembed_workspace(both_categories, model=current_model())
    after = ask(both_categories, "Which port does the Atlas gateway listen on?")
    assert [item.row.node_id for item in after.evidence] == [
        item.row.node_id for item in before.evidence
    ]
    assert_clean(both_categories)


def drop_search_index(workspace: Workspace) -> None:
    with system_scope(), connection.cursor() as cursor:
        for table in ("workspaces_vectorentry", "workspaces_lexemeentry"):
            cursor.execute(f"DELETE FROM {table} WHERE workspace_id = %s", [workspace.pk])


def test_an_answer_crosses_categories_without_a_shared_leaf(both_categories: Workspace) -> None:
    answer = ask(
        both_categories, "Which port does the Atlas gateway use, and which must it move to?"
    )
    leaves = [item.row for item in answer.evidence if item.row.kind == "leaf"]
    assert {row.category for row in leaves} == {"interaction", "integration"}
    assert {row.tree_key for row in leaves if row.category == "integration"} == {"jira:platform"}
    assert len({row.node_id for row in leaves}) == len(leaves)


def test_integration_has_its_own_lineage_in_the_same_structure(workspace: Workspace) -> None:
    """A revision replaces its object without a model, and a full buffer seals like any other."""
    remember(
        workspace,
        *[record(text, external_id=f"T-{n}", minutes=n) for n, text in enumerate(ATLAS_FACTS[:8])],
    )
    remember(
        workspace, record("The Atlas gateway listens on port 9443.", external_id="T-0", minutes=60)
    )
    [tree] = trees_of(workspace)
    assert (tree.category, tree.key, tree.leaf_count) == ("integration", "jira:platform", 8)
    revised = [leaf for leaf in leaves_of(workspace) if leaf.subject_key == "T-0"]
    assert sorted(leaf.status for leaf in revised) == ["active", "superseded"]
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.summaries.filter(tree=tree, is_root=True).count() == 1
        assert not workspace.entities.filter(is_system=False).exists()
    assert_clean(workspace)


def test_the_same_words_from_two_categories_are_two_leaves(workspace: Workspace) -> None:
    said, fetched = remember(
        workspace, draft(ATLAS_FACTS[0]), record(ATLAS_FACTS[0], external_id="T-1", minutes=1)
    )
    assert [said.chunks[0].outcome, fetched.chunks[0].outcome] == ["created", "created"]
    assert said.chunks[0].tree_id != fetched.chunks[0].tree_id
    assert said.chunks[0].leaf_id != fetched.chunks[0].leaf_id


def test_a_session_continues_and_is_no_part_of_the_tree(
    both_categories: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [(tree.key, tree.leaf_count) for tree in trees_of(both_categories)]
    with model_server(monkeypatch) as model:
        model.script(says("Noted."), says("You said plum."))
        session = open_session(both_categories)
        say(session, "My word of today is plum.")
        work_off(both_categories)
        say(session, "Which word was it?")
        work_off(both_categories)
    told = model.chats()[-1].body["messages"][1:]
    assert [message["content"] for message in told] == [
        "My word of today is plum.",
        "Noted.",
        "Which word was it?",
    ]
    assert [(tree.key, tree.leaf_count) for tree in trees_of(both_categories)] == before
    assert not any("plum" in leaf.summary for leaf in leaves_of(both_categories))
    assert_clean(both_categories)

from uuid import UUID

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, NotFound
from holamem.ids import new_id
from retrieval.gaps import count_open_gaps, dismiss_gap, get_gap, list_gaps
from retrieval.topics import recheck_gaps
from tests.retrieval.asking import ask
from tests.retrieval.factories import MemoryMaker
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.jobs import ClaimedJob
from workspaces.services.tenants import create_workspace


def indexed(leaf: SourceLeaf) -> ClaimedJob:
    return ClaimedJob(
        id=new_id(),
        workspace_id=leaf.workspace_id,
        scope_id=leaf.scope_id,
        topic="node.indexed",
        target_id=leaf.id,
        payload={},
        attempts=1,
        lease_token=new_id(),
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("What is the office rent?", "The office rent, what is it?"),
        ("What is the office rent?", "How much rent do we pay for the office?"),
        ("办公室的租金是多少？", "办公室租金多少钱？"),
    ],
)
def test_the_same_question_in_other_words_is_one_gap(
    workspace: Workspace, first: str, second: str
) -> None:
    opened = ask(workspace, first)["gaps"][0]["gap_id"]
    again = ask(workspace, second)["gaps"][0]["gap_id"]

    assert again == opened
    [gap] = list_gaps(workspace, scopes=None, status="open")
    assert gap.times_asked == 2
    assert gap.last_asked_at >= gap.first_asked_at
    assert gap.question == first


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("What is the favourite colour of Alice?", "What is the favourite colour of Bob?"),
        ("What is the office rent?", "When is the holiday party?"),
        ("What does error ERR-401 mean?", "What does error ERR-402 mean?"),
        ("办公室的租金是多少？", "公司的年会是什么时候？"),
        ("张三住在哪里？", "张三在哪里工作？"),
        ("张三住在哪里？", "李四住在哪里？"),
    ],
)
def test_another_question_is_another_gap(workspace: Workspace, first: str, second: str) -> None:
    ask(workspace, first)
    ask(workspace, second)

    assert count_open_gaps(workspace, scopes=None) == 2


def test_the_most_wanted_gap_comes_first(workspace: Workspace) -> None:
    ask(workspace, "When is the holiday party?")
    for _ in range(2):
        ask(workspace, "What is the office rent?")

    wanted = list_gaps(workspace, scopes=None)

    assert [gap.times_asked for gap in wanted] == [2, 1]
    assert wanted[0].suggested_source["kind"]


def test_a_new_leaf_closes_the_gap_that_it_answers(memory: MemoryMaker) -> None:
    gap_id = UUID(
        ask(memory.workspace, "Which port does the Beacon dashboard use?")["gaps"][0]["gap_id"]
    )
    other = UUID(ask(memory.workspace, "What is the office rent?")["gaps"][0]["gap_id"])
    leaf = memory.leaf("The Beacon dashboard uses port 3000.", tree=memory.tree("Beacon"))

    recheck_gaps(memory.workspace, indexed(leaf))

    answered = get_gap(memory.workspace, scopes=None, gap_id=gap_id)
    assert answered.status == "answered"
    assert answered.answered_by_id == leaf.id
    assert answered.closed_at is not None
    assert get_gap(memory.workspace, scopes=None, gap_id=other).status == "open"


def test_a_leaf_on_something_else_closes_nothing(memory: MemoryMaker) -> None:
    ask(memory.workspace, "Which port does the Beacon dashboard use?")
    leaf = memory.leaf("Maya prefers tea.", tree=memory.tree("Maya"))

    recheck_gaps(memory.workspace, indexed(leaf))

    assert count_open_gaps(memory.workspace, scopes=None) == 1


def test_a_chinese_gap_is_closed(memory: MemoryMaker) -> None:
    gap_id = UUID(ask(memory.workspace, "监控看板的地址是什么？")["gaps"][0]["gap_id"])
    leaf = memory.leaf("监控看板的地址是 grafana.internal:3100。", tree=memory.tree("监控看板"))

    recheck_gaps(memory.workspace, indexed(leaf))

    assert get_gap(memory.workspace, scopes=None, gap_id=gap_id).status == "answered"


def test_a_private_leaf_never_closes_a_shared_or_foreign_gap(memory: MemoryMaker) -> None:
    alice, bob = memory.end_user("alice"), memory.end_user("bob")
    shared = memory.workspace.pk
    question = "Which coffee does the team drink?"
    gaps = {
        name: UUID(ask(memory.workspace, question, scopes=scopes)["gaps"][0]["gap_id"])
        for name, scopes in (
            ("shared", None),
            ("alice", (shared, alice)),
            ("bob", (shared, bob)),
        )
    }
    assert len(set(gaps.values())) == 3
    leaf = memory.leaf(
        "The team drinks Ethiopian coffee.", tree=memory.tree("Coffee", scope_id=alice)
    )

    recheck_gaps(memory.workspace, indexed(leaf))

    status = {
        name: get_gap(memory.workspace, scopes=ALL_SCOPES, gap_id=gap_id).status
        for name, gap_id in gaps.items()
    }
    assert status == {"shared": "open", "alice": "answered", "bob": "open"}


def test_a_shared_leaf_closes_the_gaps_of_everyone(memory: MemoryMaker) -> None:
    alice = memory.end_user("alice")
    ask(memory.workspace, "Which coffee does the team drink?", scopes=(memory.workspace.pk, alice))
    leaf = memory.leaf("The team drinks Ethiopian coffee.", tree=memory.tree("Coffee"))

    recheck_gaps(memory.workspace, indexed(leaf))

    assert count_open_gaps(memory.workspace, scopes=ALL_SCOPES) == 0


def test_private_gaps_are_listed_in_their_scope_only(memory: MemoryMaker) -> None:
    alice = memory.end_user("alice")
    scopes = (memory.workspace.pk, alice)
    gap_id = UUID(
        ask(memory.workspace, "What is my shoe size?", scopes=scopes)["gaps"][0]["gap_id"]
    )

    assert list_gaps(memory.workspace, scopes=None) == []
    assert [gap.id for gap in list_gaps(memory.workspace, scopes=scopes)] == [gap_id]
    with pytest.raises(NotFound):
        get_gap(memory.workspace, scopes=None, gap_id=gap_id)


def test_a_question_to_everyones_memory_leaves_no_private_name_among_the_shared_gaps(
    memory: MemoryMaker,
) -> None:
    private = memory.tree("Atlas", scope_id=memory.end_user("alice"))
    memory.leaf("Atlas moved to a new office.", tree=private, actor="Alice Mbeki")
    answer = ask(memory.workspace, "What rent does the office of Atlas cost?", scopes=ALL_SCOPES)

    assert answer["gaps"][0]["suggested_source"]["name"] == "Alice Mbeki"
    [gap] = list_gaps(memory.workspace, scopes=None)
    assert gap.suggested_source is None


def test_a_dismissed_gap_stays_closed_and_a_new_question_opens_another(
    workspace: Workspace,
) -> None:
    gap_id = UUID(ask(workspace, "What is the office rent?")["gaps"][0]["gap_id"])

    assert dismiss_gap(workspace, scopes=None, gap_id=gap_id).status == "dismissed"
    with pytest.raises(Conflict):
        dismiss_gap(workspace, scopes=None, gap_id=gap_id)
    again = UUID(ask(workspace, "What is the office rent?")["gaps"][0]["gap_id"])
    assert again != gap_id


def test_another_workspaces_gap_does_not_exist(workspace: Workspace, tenant: Tenant) -> None:
    gap_id = UUID(ask(workspace, "What is the office rent?")["gaps"][0]["gap_id"])
    other = create_workspace(tenant, slug=f"o-{new_id().hex}", name="Other")

    with pytest.raises(NotFound) as foreign:
        dismiss_gap(other, scopes=ALL_SCOPES, gap_id=gap_id)
    with pytest.raises(NotFound) as absent:
        dismiss_gap(other, scopes=ALL_SCOPES, gap_id=new_id())
    assert foreign.value.message == absent.value.message


def test_a_job_for_a_node_that_is_gone_is_quiet(memory: MemoryMaker) -> None:
    leaf = memory.leaf("Atlas speaks gRPC.")
    ask(memory.workspace, "What is the office rent?")
    with workspace_scope(memory.workspace):
        memory.workspace.lexeme_entries.filter(node_id=leaf.id).delete()

    recheck_gaps(memory.workspace, indexed(leaf))

    assert count_open_gaps(memory.workspace, scopes=None) == 1

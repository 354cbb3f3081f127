from tests.retrieval.asking import ask, excerpts, node_ids
from tests.retrieval.factories import MemoryMaker

FACTS = (
    "Atlas was started in spring by Maya.",
    "Atlas moved its logs to object storage.",
    "Atlas has four virtual machines.",
    "Atlas pages the on-call engineer.",
)


def test_a_broad_question_ranks_summaries_and_opens_their_branches(memory: MemoryMaker) -> None:
    leaves = [memory.leaf(text) for text in FACTS]
    summary = memory.summary("Atlas is a gateway run by Maya.\nIt logs.", children=leaves)
    other = memory.tree("Beacon")
    beacon = [memory.leaf(f"Beacon detail number {n}.", tree=other) for n in range(3)]
    memory.summary("Beacon is a lamp.", children=beacon)

    answer = ask(memory.workspace, "Summarise Atlas")

    assert answer["intent"]["mode"] == "broad_summary"
    assert node_ids(answer)[0] == str(summary.id)
    assert {str(leaf.id) for leaf in leaves} <= set(node_ids(answer))
    assert answer["coverage"]["used"]["summaries"]
    inside = [item for item in answer["evidence"] if "in_branch" in item["reasons"]]
    assert inside


def test_summary_bullets_are_shown_without_their_citations(memory: MemoryMaker) -> None:
    leaves = [memory.leaf(text) for text in FACTS]
    memory.summary("Atlas is a gateway run by Maya.\nIt logs to storage.", children=leaves)

    answer = ask(memory.workspace, "Summarise Atlas", include_leaves=False)

    assert [item["node_kind"] for item in answer["evidence"]] == ["summary"]
    assert str(leaves[0].id) not in excerpts(answer)
    assert "Atlas is a gateway run by Maya." in excerpts(answer)
    assert answer["evidence"][0]["children_count"] == len(leaves)
    assert answer["evidence"][0]["metadata"] == {}
    assert answer["evidence"][0]["sources"] == []


def test_a_quarantined_summary_is_not_returned(memory: MemoryMaker) -> None:
    leaves = [memory.leaf(text) for text in FACTS]
    summary = memory.summary(
        "Atlas keeps a secret.", children=leaves, status="quarantined", withheld=True
    )

    answer = ask(memory.workspace, "Summarise Atlas")

    assert str(summary.id) not in node_ids(answer)
    assert "secret" not in str(answer["retrieval_pack"])


def test_a_strong_leaf_elsewhere_is_kept_as_outside(memory: MemoryMaker) -> None:
    leaves = [memory.leaf(text) for text in FACTS]
    memory.summary("Atlas is a gateway run by Maya.", children=leaves)
    tree = memory.tree("Harbor")
    harbor = [
        memory.leaf("Harbor deploys the Atlas gateway with a canary.", tree=tree),
        memory.leaf("Harbor has runners.", tree=tree),
    ]
    memory.summary("Pipelines and their runners.", children=harbor)

    answer = ask(memory.workspace, "Give me an overview of the Atlas gateway", max_results=8)

    by_id = {item["node_id"]: item for item in answer["evidence"]}
    assert str(harbor[0].id) in by_id


def test_an_exact_question_ranks_leaves_first(memory: MemoryMaker) -> None:
    leaves = [memory.leaf(text) for text in FACTS]
    memory.summary("Atlas has four virtual machines and logs.", children=leaves)

    answer = ask(memory.workspace, "How many virtual machines does Atlas have?")

    assert answer["evidence"][0]["node_id"] == str(leaves[2].id)
    assert answer["evidence"][-1]["node_kind"] == "summary"


def test_only_summaries_or_only_leaves_can_be_asked_for(memory: MemoryMaker) -> None:
    leaves = [memory.leaf(text) for text in FACTS]
    memory.summary("Atlas is a gateway run by Maya.", children=leaves)

    for query in ("Summarise Atlas", "Who started Atlas?"):
        only_leaves = ask(memory.workspace, query, include_summaries=False)
        only_summaries = ask(memory.workspace, query, include_leaves=False)
        neither = ask(memory.workspace, query, include_leaves=False, include_summaries=False)

        assert {item["node_kind"] for item in only_leaves["evidence"]} == {"leaf"}
        assert {item["node_kind"] for item in only_summaries["evidence"]} == {"summary"}
        assert neither["evidence"] == []

from datetime import timedelta

import pytest

from holamem.database.scope import ALL_SCOPES
from holamem.ids import new_id
from tests.retrieval.asking import ask, excerpts, facts, node_ids
from tests.retrieval.factories import DAY, MemoryMaker
from workspaces.models.tenancy import Tenant
from workspaces.services.tenants import create_workspace


def test_another_workspace_is_never_searched(team: MemoryMaker, tenant: Tenant) -> None:
    other = create_workspace(tenant, slug=f"o-{new_id().hex}", name="Other")

    answer = ask(other, "Which port does the Atlas gateway listen on in production?")
    everyone = ask(other, "Which port does the Atlas gateway use?", scopes=ALL_SCOPES)

    assert answer["evidence"] == []
    assert everyone["evidence"] == []


def test_private_memory_is_only_seen_in_its_scope(memory: MemoryMaker) -> None:
    alice, bob = memory.end_user("alice"), memory.end_user("bob")
    shared = memory.workspace.pk
    memory.leaf("Alice takes her coffee black.", tree=memory.tree("Coffee", scope_id=alice))
    memory.leaf("Coffee beans are bought on Mondays.", tree=memory.tree("Coffee"))

    without = ask(memory.workspace, "How does Alice take her coffee?")
    as_bob = ask(memory.workspace, "How does Alice take her coffee?", scopes=(shared, bob))
    as_alice = ask(memory.workspace, "How does Alice take her coffee?", scopes=(shared, alice))
    everyone = ask(memory.workspace, "How does Alice take her coffee?", scopes=ALL_SCOPES)

    assert "black" not in excerpts(without)
    assert "black" not in excerpts(as_bob)
    assert "black" in facts(as_alice)
    assert "black" in facts(everyone)
    assert "Mondays" in excerpts(as_alice)


def test_an_empty_filter_means_nothing(team: MemoryMaker) -> None:
    query = "Which port does the Atlas gateway listen on?"

    for name in ("categories", "tree_ids", "entities", "labels"):
        assert ask(team.workspace, query, **{name: []})["evidence"] == [], name


def test_filters_keep_what_they_name(team: MemoryMaker) -> None:
    tree = team.tree("Atlas gateway")
    tagged = team.leaf("Atlas deploys on Tuesdays.", tree=tree, labels=["deploy"])
    query = "Atlas gateway"

    by_id = ask(team.workspace, query, tree_id=str(tree.id))
    by_key = ask(team.workspace, query, tree_id=tree.key)
    by_alias = ask(team.workspace, query, entities=["Atlas"])
    by_label = ask(team.workspace, query, labels=["deploy"])
    unknown = ask(team.workspace, query, entities=["nobody"])

    assert {item["tree_key"] for item in by_id["evidence"]} == {tree.key}
    assert node_ids(by_id) == node_ids(by_key)
    assert {item["tree_key"] for item in by_alias["evidence"]} == {tree.key}
    assert node_ids(by_label) == [str(tagged.id)]
    assert unknown["evidence"] == []


def test_categories_are_searched_apart_and_together(memory: MemoryMaker) -> None:
    memory.leaf("Release notes of Atlas are written on Fridays.")
    issue = memory.leaf(
        "Issue 42: Atlas release notes are missing.",
        tree=memory.integration_tree("github", "repo-atlas"),
    )

    both = ask(memory.workspace, "Atlas release notes")
    only = ask(memory.workspace, "Atlas release notes", category="integration")

    assert {item["category"] for item in both["evidence"]} == {"interaction", "integration"}
    assert node_ids(only) == [str(issue.id)]


def test_superseded_leaves_are_shown_only_on_request(memory: MemoryMaker) -> None:
    old = memory.leaf(
        "The deployment window of Atlas is Tuesday.",
        status="superseded",
        observed_at=DAY - timedelta(days=60),
        valid_until=DAY - timedelta(days=10),
    )
    new = memory.leaf(
        "The deployment window of Atlas is Wednesday.", observed_at=DAY - timedelta(days=10)
    )
    query = "When is the deployment window of Atlas?"

    current = ask(memory.workspace, query)
    history = ask(memory.workspace, query, include_superseded=True)
    then = ask(memory.workspace, query, as_of=(DAY - timedelta(days=30)).isoformat())

    assert node_ids(current) == [str(new.id)]
    assert node_ids(history) == [str(new.id), str(old.id)]
    assert node_ids(then) == [str(old.id)]
    assert "Tuesday" in facts(then)


def test_a_time_range_filters_by_when_it_was_observed(memory: MemoryMaker) -> None:
    may = memory.leaf("Atlas was migrated to Go.", observed_at=DAY)
    memory.leaf("Atlas was migrated to Rust.", observed_at=DAY - timedelta(days=400))

    answer = ask(
        memory.workspace,
        "What was Atlas migrated to?",
        time_range={"from": "2026-05-01T00:00:00Z", "to": "2026-05-31T00:00:00Z"},
    )

    assert node_ids(answer) == [str(may.id)]


def test_an_answer_outside_the_range_is_a_gap_of_its_own_kind(memory: MemoryMaker) -> None:
    memory.leaf("Atlas was migrated to Go in the winter.", observed_at=DAY - timedelta(days=400))

    filtered = ask(
        memory.workspace,
        "What was Atlas migrated to?",
        time_range={"from": "2026-05-01T00:00:00Z"},
    )
    named = ask(memory.workspace, "What was Atlas migrated to last week?")

    assert [gap["kind"] for gap in filtered["gaps"]] == ["outside_time_range"]
    assert filtered["retrieval_pack"]["known_facts"] == []
    assert [gap["kind"] for gap in named["gaps"]] == ["outside_time_range"]
    assert named["retrieval_pack"]["known_facts"] == []


def test_what_changed_is_answered_from_the_named_days(memory: MemoryMaker) -> None:
    memory.leaf("Atlas moved to port 9443.", observed_at=DAY)
    memory.leaf("Atlas moved to port 8443.", observed_at=DAY - timedelta(days=30))
    chinese = memory.leaf(
        "支付网关改为使用 9001 端口。", tree=memory.tree("支付网关"), observed_at=DAY
    )

    english = ask(memory.workspace, "What changed this week?")
    answer = ask(memory.workspace, "2026-05-20 发生了什么变化")

    assert "9443" in facts(english)
    assert "8443" not in excerpts(english)
    assert str(chinese.id) in node_ids(answer)
    assert "8443" not in excerpts(answer)


@pytest.mark.parametrize(
    ("query", "old_text", "new_text", "told"),
    [
        (
            "What changed this week?",
            "The deployment window of Atlas is Tuesday.",
            "The deployment window of Atlas is Wednesday.",
            "Wednesday. (2026-05-20); before: The deployment window of Atlas is Tuesday.",
        ),
        (
            "这周有什么变化？",
            "支付网关的发布窗口是周二。",
            "支付网关的发布窗口是周三。",
            "周三。（2026年5月20日）；此前：支付网关的发布窗口是周二。",
        ),
    ],
)
def test_what_changed_tells_what_was_there_before(
    memory: MemoryMaker, query: str, old_text: str, new_text: str, told: str
) -> None:
    long_ago = DAY - timedelta(days=60)
    old = memory.leaf(old_text, status="superseded", observed_at=long_ago, valid_until=DAY)
    new = memory.leaf(new_text, supersedes_leaf=old)

    answer = ask(memory.workspace, query)

    assert node_ids(answer) == [str(new.id), str(old.id)]
    [fact] = answer["retrieval_pack"]["known_facts"]
    assert told in fact["text"]
    assert fact["evidence_ids"] == ["E1", "E2"]


def test_an_entity_that_was_asked_for_is_found_among_many_that_the_question_spells(
    memory: MemoryMaker,
) -> None:
    query = "Which colour does the quarterly newsletter about everything have?"
    parts = {query[a : a + size].strip(" ?") for a in range(55) for size in range(3, 9)}
    for part in sorted(parts)[:230]:  # more than are looked at
        memory.tree(part)
    wanted = memory.leaf("The newsletter of Zeta is blue.", tree=memory.tree("Zeta"))
    answer = ask(memory.workspace, query, entities=["zeta"])
    assert node_ids(answer) == [str(wanted.id)]

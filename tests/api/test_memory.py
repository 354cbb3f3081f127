"""Trees, leaves, summaries, entities, jobs and status, over a memory that was really written."""

from uuid import UUID, uuid4

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.api.client import Caller, Side, caller_for, codes, new_side
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from workspaces.models.jobs import Job
from workspaces.models.trees import SourceLeaf, SummaryNode


@pytest.fixture(scope="module")
def atlas(django_db_setup: None) -> Side:
    """Nine facts about one subject: a sealed tree with one leaf in its buffer."""
    side = new_side()
    facts = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:9])]
    remember(side.workspace, *facts)
    return side


def rows(side: Side, noun: str, query: str = "") -> list[dict[str, object]]:
    response = side.caller.get(f"{side.base}/{noun}{query}")
    assert response.status_code == 200, response.content
    results: list[dict[str, object]] = response.json()["results"]
    return results


def biggest_tree(side: Side) -> dict[str, object]:
    return max(rows(side, "trees"), key=lambda tree: int(str(tree["leaf_count"])))


def test_trees_are_listed_with_their_counts(atlas: Side) -> None:
    tree = biggest_tree(atlas)
    assert {
        "tree_id",
        "key",
        "category",
        "title",
        "leaf_count",
        "summary_count",
        "height",
        "user_id",
    } <= set(tree)
    assert sum(int(str(tree["leaf_count"])) for tree in rows(atlas, "trees")) == 9
    assert tree["user_id"] is None


def test_a_tree_is_found_by_its_key(atlas: Side) -> None:
    tree = biggest_tree(atlas)
    response = atlas.caller.get(f"{atlas.base}/trees/{tree['key']}")
    assert response.status_code == 200
    assert response.json() == tree


def test_a_seal_is_queued_once(atlas: Side) -> None:
    tree = biggest_tree(atlas)
    for _ in range(2):
        response = atlas.caller.post(f"{atlas.base}/trees/{tree['key']}:seal")
        assert response.status_code == 202
        assert response.json() == {"tree_id": tree["tree_id"], "status": "queued"}
    with workspace_scope(atlas.workspace):
        ready = atlas.workspace.jobs.filter(topic=Job.Topic.TREE_DIRTY, state=Job.State.READY)
        assert ready.count() == 1
    drain(atlas.workspace)


def test_an_action_takes_no_fields(atlas: Side) -> None:
    tree = biggest_tree(atlas)
    path = f"{atlas.base}/trees/{tree['key']}:seal"
    refused = atlas.caller.post(path, {"force": True})
    assert refused.status_code == 400
    assert set(codes(refused)) == {"force"}
    assert atlas.caller.post(path, {}).status_code == 202
    drain(atlas.workspace)


def test_a_tree_whose_key_ends_like_an_action_can_be_read() -> None:
    side = new_side()
    remember(side.workspace, draft("A fact."))
    with workspace_scope(side.workspace, ALL_SCOPES):
        side.workspace.trees.update(key="interaction:seal")
    assert side.caller.get(f"{side.base}/trees/interaction:seal").status_code == 200
    assert side.caller.get(f"{side.base}/trees/interaction").status_code == 404


def test_a_leaf_shows_its_text_and_where_it_came_from(atlas: Side) -> None:
    with workspace_scope(atlas.workspace):
        leaf = atlas.workspace.leaves.order_by("observed_at").first()
    assert leaf is not None
    body = atlas.caller.get(f"{atlas.base}/leaves/{leaf.id}").json()
    assert body["leaf_id"] == str(leaf.id)
    assert ATLAS_FACTS[0] in body["body"]
    assert body["status"] == "active"
    assert [source["is_creator"] for source in body["sources"]] == [True]


def test_a_leaf_that_never_changed_has_itself_as_history(atlas: Side) -> None:
    with workspace_scope(atlas.workspace):
        leaf = atlas.workspace.leaves.first()
    assert leaf is not None
    body = atlas.caller.get(f"{atlas.base}/leaves/{leaf.id}/history").json()
    assert [version["leaf_id"] for version in body["results"]] == [str(leaf.id)]


def test_a_summary_shows_its_children_in_order(atlas: Side) -> None:
    request = biggest_tree(atlas)
    if not request["root_id"]:
        pytest.skip("these facts were spread over trees too small to seal")
    body = atlas.caller.get(f"{atlas.base}/summaries/{request['root_id']}").json()
    with workspace_scope(atlas.workspace):
        stored = atlas.workspace.summaries.get(id=UUID(str(request["root_id"])))
    assert [child["node_id"] for child in body["children"]] == [str(c) for c in stored.child_ids]
    assert (body["level"], body["height"]) == (1, 1)


def test_a_leaf_is_no_summary_and_a_summary_no_leaf(atlas: Side) -> None:
    with workspace_scope(atlas.workspace):
        leaf = atlas.workspace.leaves.first()
    assert leaf is not None
    assert atlas.caller.get(f"{atlas.base}/summaries/{leaf.id}").status_code == 404


@pytest.mark.parametrize("status", [SourceLeaf.Status.ERASING, SourceLeaf.Status.ERASED])
def test_an_erased_leaf_is_the_same_as_none(status: str) -> None:
    side = new_side()
    [result] = remember(side.workspace, draft("Mara owns the Atlas gateway."))
    leaf_id = result.chunks[0].leaf_id
    with workspace_scope(side.workspace):
        side.workspace.leaves.filter(id=leaf_id).update(status=status)
    assert side.caller.get(f"{side.base}/leaves/{leaf_id}").status_code == 404
    assert side.caller.get(f"{side.base}/leaves/{leaf_id}/history").status_code == 404


def test_a_quarantined_summary_is_not_shown(atlas: Side) -> None:
    side = new_side()
    facts = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:12])]
    remember(side.workspace, *facts)
    with workspace_scope(side.workspace):
        summary = side.workspace.summaries.first()
        if summary is None:
            pytest.skip("these facts were spread over trees too small to seal")
        side.workspace.summaries.update(status=SummaryNode.Status.QUARANTINED, withheld=True)
    assert side.caller.get(f"{side.base}/summaries/{summary.id}").status_code == 404


def test_entities_are_listed_and_filtered(atlas: Side) -> None:
    listed = rows(atlas, "entities")
    assert "uncategorized" in {entity["slug"] for entity in listed} or listed
    kind = str(listed[0]["type"])
    assert {entity["type"] for entity in rows(atlas, "entities", f"?type={kind}")} == {kind}
    assert atlas.caller.get(f"{atlas.base}/entities?type=planet").status_code == 400


def test_private_trees_and_entities_need_their_end_user() -> None:
    side = new_side()
    remember(side.workspace, draft("Mara owns the Atlas gateway.", user_id="ann"))
    for noun in ("trees", "entities"):
        assert rows(side, noun) == []
        assert {row["user_id"] for row in rows(side, noun, "?user_id=ann")} == {"ann"}
    [tree] = rows(side, "trees", "?user_id=ann")
    address = f"{side.base}/trees/{tree['key']}"
    assert side.caller.get(address).status_code == 404
    assert side.caller.get(f"{address}?user_id=ben").status_code == 404
    assert side.caller.get(f"{address}?user_id=ann").status_code == 200


def parked_job(side: Side) -> Job:
    with workspace_scope(side.workspace):
        job = side.workspace.jobs.first()
        assert job is not None
        side.workspace.jobs.filter(id=job.id).update(state=Job.State.PARKED, attempts=3)
    return job


def test_a_parked_job_is_listed_retried_and_cancelled() -> None:
    side = new_side()
    remember(side.workspace, draft("A fact."))
    job = parked_job(side)
    [listed] = rows(side, "jobs", "?state=parked")
    assert listed["job_id"] == str(job.id)
    retried = side.caller.post(f"{side.base}/jobs/{job.id}:retry")
    assert (retried.status_code, retried.json()["state"]) == (200, "ready")
    again = side.caller.post(f"{side.base}/jobs/{job.id}:retry")
    assert again.status_code == 409
    cancelled = side.caller.post(f"{side.base}/jobs/{job.id}:cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
    assert side.caller.post(f"{side.base}/jobs/{uuid4()}:cancel").status_code == 404


def test_status_counts_what_there_is_and_what_is_left() -> None:
    side = new_side()
    empty = side.caller.get(f"{side.base}/status").json()
    assert (empty["leaves"], empty["idle"], empty["oldest_age_s"]) == (0, True, 0.0)
    side.caller.post(f"{side.base}/events", {"kind": "user_message", "text": "A fact."})
    waiting = side.caller.get(f"{side.base}/status").json()
    assert waiting["backlog"] == {"events": 1, "embeddings": 0, "seals": 0, "parked": 0}
    assert (waiting["events"]["received"], waiting["idle"]) == (1, False)
    assert waiting["oldest_age_s"] > 0
    drain(side.workspace)
    parked_job(side)
    done = side.caller.get(f"{side.base}/status").json()
    assert (done["backlog"]["parked"], done["idle"]) == (1, True)


def test_status_covers_private_memory_for_a_key_of_the_tenant_only() -> None:
    side = new_side()
    remember(side.workspace, draft("Mara owns the gateway.", user_id="ann"))
    remember(side.workspace, draft("Lars owns the database."))
    assert side.caller.get(f"{side.base}/status").json()["leaves"] == 2
    with workspace_scope(side.workspace):
        ben = side.workspace.end_users.create(ref="ben", slug="ben")
    bound = caller_for(side.tenant, workspace=side.workspace, end_user=ben)
    assert bound.get(f"{side.base}/status").json()["leaves"] == 1


def bound_caller(side: Side, ref: str, *permissions: str) -> Caller:
    with workspace_scope(side.workspace):
        user = side.workspace.end_users.create(ref=ref, slug=ref)
    return caller_for(side.tenant, permissions=permissions, workspace=side.workspace, end_user=user)


def test_a_key_of_one_end_user_changes_nothing_that_is_shared() -> None:
    side = new_side()
    remember(side.workspace, draft("A fact."))
    job = parked_job(side)
    [gap] = side.caller.post(
        f"{side.base}/memory/retrieve", {"query": "Which colour has the moon?"}
    ).json()["gaps"]
    bound = bound_caller(side, "ben", "memory:read", "memory:write", "admin")
    assert bound.post(f"{side.base}/jobs/{job.id}:cancel").status_code == 404
    assert bound.post(f"{side.base}/jobs/{job.id}:retry").status_code == 404
    assert bound.post(f"{side.base}/gaps/{gap['gap_id']}:dismiss").status_code == 404
    assert bound.send("PATCH", side.base, {"name": "Mine"}).status_code == 403
    assert bound.send("DELETE", side.base).status_code == 403
    assert side.caller.post(f"{side.base}/gaps/{gap['gap_id']}:dismiss").status_code == 200


def test_jobs_of_private_memory_are_listed_for_keys_of_everyones_memory_only() -> None:
    side = new_side()
    remember(side.workspace, draft("Mara owns the gateway.", user_id="ann"))
    assert rows(side, "jobs")
    reader = caller_for(side.tenant, permissions=["memory:read"])
    assert reader.get(f"{side.base}/jobs").json()["results"] == []


def test_a_node_that_has_not_changed_is_not_sent_again(atlas: Side) -> None:
    with workspace_scope(atlas.workspace, ALL_SCOPES):
        leaf = atlas.workspace.leaves.filter(status="active").first()
        summary = atlas.workspace.summaries.filter(status="sealed").first()
    assert leaf is not None
    assert summary is not None
    for path in (f"leaves/{leaf.id}", f"summaries/{summary.id}"):
        first = atlas.caller.get(f"{atlas.base}/{path}")
        tag = first["ETag"]
        for known in (tag, f"W/{tag}", f'"else", {tag}', "*"):
            again = atlas.caller.get(f"{atlas.base}/{path}", If_None_Match=known)
            assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
        changed = atlas.caller.get(f"{atlas.base}/{path}", If_None_Match='"else"')
        assert (changed.status_code, changed.content) == (200, first.content)
    stranger = new_side().caller.get(f"{atlas.base}/{path}", If_None_Match="*")
    assert stranger.status_code == 404

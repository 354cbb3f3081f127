"""Text memory and its history over the API."""

import pytest

from agents.hot.text_memory import Writer, upsert_topic
from agents.hot.topics import TopicDraft
from tests.agents.replies import end_user
from tests.api.client import Side, caller_for, codes, new_side
from tests.verification import assert_clean
from tests.workspaces.memory import principal_of
from workspaces.services.end_user_view import find_end_user


@pytest.fixture
def side(django_db_setup: None) -> Side:
    made = new_side()
    for scope_id, name in ((made.workspace.id, "roadmap"), (end_user(made.workspace), "口味")):
        topic = TopicDraft(name, f"About {name}.", "A summary")
        upsert_topic(made.workspace, scope_id=scope_id, topic=topic, writer=Writer("tool"))
    return made


def names(side: Side, query: str = "") -> list[tuple[str, str | None, str]]:
    rows = side.caller.get(f"{side.base}/text-memory{query}").json()["results"]
    return [(row["scope"], row["user_id"], row["name"]) for row in rows]


def test_an_end_users_memory_is_listed_with_the_workspaces(side: Side) -> None:
    shared = [("workspace", None, "index"), ("workspace", None, "roadmap")]
    assert names(side) == shared
    hers = [("user", "ana", "index"), ("user", "ana", "口味")]
    assert sorted(names(side, "?user_id=ana")) == sorted([*shared, *hers])
    assert len(names(side, "?user_id=*&limit=3")) == 3


def test_a_topic_is_read_and_deleted_with_its_line(side: Side) -> None:
    base = f"{side.base}/text-memory"
    read = side.caller.get(f"{base}/user/口味?user_id=ana").json()
    assert (read["content"], read["kind"], read["version"]) == ("About 口味.", "topic", 1)
    assert side.caller.send("DELETE", f"{base}/user/口味?user_id=ana").status_code == 204
    assert side.caller.get(f"{base}/user/口味?user_id=ana").status_code == 404
    assert side.caller.get(f"{base}/user/index?user_id=ana").json()["content"] == ""
    kept = side.caller.send("DELETE", f"{base}/workspace/index")
    assert (kept.status_code, codes(kept)) == (409, {"": "conflict"})
    for path in ("user/口味", "user/roadmap?user_id=ana", "team/roadmap", "workspace/口味"):
        assert side.caller.get(f"{base}/{path}").status_code == 404, path
    assert_clean(side.workspace)


def test_one_end_users_key_reads_what_is_shared_and_deletes_its_own(side: Side) -> None:
    user = find_end_user(side.workspace, principal=principal_of(side.workspace), ref="ana")
    ana = caller_for(side.tenant, workspace=side.workspace, end_user=user)
    base = f"{side.base}/text-memory"
    assert ana.get(f"{base}/workspace/roadmap").status_code == 200
    assert ana.send("DELETE", f"{base}/workspace/roadmap").status_code == 404
    assert ana.send("DELETE", f"{base}/user/口味").status_code == 204
    assert ana.get(f"{base}/user/口味?user_id=ben").status_code == 404


def test_the_history_is_a_chain_of_what_one_may_see(side: Side) -> None:
    everything = side.caller.get(f"{side.base}/history?user_id=*").json()["results"]
    assert [row["position"] for row in everything] == [2, 1]
    assert everything[0]["prev_sha256"] == everything[1]["sha256"]
    shared = side.caller.get(f"{side.base}/history").json()["results"]
    assert [row["payload"]["name"] for row in shared] == ["roadmap"]

"""Receiving events and looking at them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.api.client import Caller, Side, caller_for, codes, event_body, is_uuid
from tests.workspaces.memory import drain
from workspaces.models.tenancy import Workspace


def stored(workspace: Workspace) -> int:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.events.count()


def test_an_event_is_accepted_as_soon_as_it_is_stored(side: Side) -> None:
    response = side.caller.post(f"{side.base}/events", event_body())
    assert response.status_code == 202
    assert set(response.json()) == {"event_id", "status"}
    assert is_uuid(response.json()["event_id"])
    assert response.json()["status"] == "received"
    assert stored(side.workspace) == 1


def test_receiving_an_event_takes_few_statements(side: Side) -> None:
    side.caller.post(f"{side.base}/events", event_body("First."))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        response = side.caller.post(f"{side.base}/events", event_body("Second."))
    assert response.status_code == 202
    assert len(queries) <= 22, [query["sql"] for query in queries]


def test_the_time_keeps_the_offset_that_the_caller_wrote(side: Side) -> None:
    response = side.caller.post(f"{side.base}/events", event_body())
    with workspace_scope(side.workspace):
        event = side.workspace.events.get(id=response.json()["event_id"])
    assert event.offset_minutes == 480
    assert event.occurred_at.isoformat() == "2026-05-20T01:30:00+00:00"


def test_a_processed_event_tells_what_its_chunks_became(side: Side) -> None:
    made = side.caller.post(f"{side.base}/events", event_body()).json()
    drain(side.workspace)
    response = side.caller.get(f"{side.base}/events/{made['event_id']}")
    body = response.json()
    assert response.status_code == 200
    assert (body["event_id"], body["status"], body["error"]) == (made["event_id"], "processed", "")
    [chunk] = body["chunks"]
    assert chunk["outcome"] == "created"
    assert chunk["tree_key"].startswith("interaction:")
    assert set(chunk) == {
        "position",
        "outcome",
        "admission_confidence",
        "reason",
        "leaf_id",
        "tree_id",
        "tree_key",
        "entity",
        "decision",
    }


def test_waiting_past_the_deadline_is_a_202_that_says_processing(side: Side) -> None:
    response = side.caller.post(f"{side.base}/events?wait=true&timeout_s=1", event_body())
    assert response.status_code == 202
    assert response.json()["status"] == "processing"


def test_waiting_for_a_processed_event_answers_with_its_chunks(side: Side) -> None:
    headers = {"Idempotency_Key": "k"}
    side.caller.post(f"{side.base}/events", event_body(), **headers)
    drain(side.workspace)
    response = side.caller.post(f"{side.base}/events?wait=true", event_body(), **headers)
    assert response.status_code == 200
    assert response.json()["chunks"][0]["outcome"] == "created"
    assert response["Idempotent-Replayed"] == "true"


def test_a_dry_run_decides_and_writes_nothing(side: Side) -> None:
    response = side.caller.post(f"{side.base}/events?dry_run=true", event_body())
    assert response.status_code == 200
    assert response.json()["status"] == "dry_run"
    assert response.json()["chunks"][0]["outcome"] == "created"
    assert stored(side.workspace) == 0


@pytest.mark.parametrize(
    "query", ["wait=1", "wait=yes", "wait=", "timeout_s=0", "timeout_s=61", "timeout_s=x"]
)
def test_a_wait_that_is_not_one_is_refused(side: Side, query: str) -> None:
    response = side.caller.post(f"{side.base}/events?{query}", event_body())
    assert response.status_code == 400
    assert stored(side.workspace) == 0


def test_a_batch_is_stored_whole(side: Side) -> None:
    events = [event_body(f"Fact number {n}.") for n in range(5)]
    response = side.caller.post(f"{side.base}/events:batch", {"events": events})
    assert response.status_code == 202
    assert [event["status"] for event in response.json()["events"]] == ["received"] * 5
    assert stored(side.workspace) == 5


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"kind": "opinion"}, "events[1].kind"),
        ({"surprise": 1}, "events[1].surprise"),
        ({"text": ""}, "events[1].text"),
        ({"provider": "github"}, "events[1].provider"),
        ({"category": "integration"}, "events[1].provider"),
        ({"succeeded": True}, "events[1].succeeded"),
    ],
)
def test_one_bad_event_refuses_the_batch_and_is_named(
    side: Side, bad: dict[str, object], field: str
) -> None:
    events = [event_body("Good."), event_body(**bad)]
    response = side.caller.post(f"{side.base}/events:batch", {"events": events})
    assert response.status_code == 400
    assert set(codes(response)) == {field}
    assert stored(side.workspace) == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"events": []},
        {"events": {}},
        {"messages": []},
        {"events": [event_body()], "messages": [{"role": "user", "content": "a"}]},
        {"events": [event_body()], "user_id": "u"},
        {"messages": [{"role": "owner", "content": "a"}]},
        {"messages": [{"role": "user", "content": 5}]},
        {"messages": [{"role": "user", "content": ["a"]}]},
        {"messages": [{"role": "user", "content": "a", "created_at": "2026-05-20T09:30:00"}]},
    ],
)
def test_a_batch_that_is_not_one_is_refused(side: Side, body: dict[str, object]) -> None:
    response = side.caller.post(f"{side.base}/events:batch", body)
    assert response.status_code == 400
    assert codes(response)
    assert stored(side.workspace) == 0


def test_more_than_500_events_are_refused(side: Side) -> None:
    events = [{"kind": "user_message", "text": "a"}] * 501
    response = side.caller.post(f"{side.base}/events:batch", {"events": events})
    assert response.status_code == 400
    assert set(codes(response)) == {"events"}


def test_chat_messages_become_events(side: Side) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "部署在法兰克福。", "created_at": "2026-05-20T09:30:00+08:00"},
        {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "exit 0"}],
        },
        {"role": "tool", "tool_call_id": "t", "content": "exit 0 too"},
    ]
    response = side.caller.post(
        f"{side.base}/events:batch", {"messages": messages, "session": "s-1"}
    )
    assert response.status_code == 202
    listed = side.caller.get(f"{side.base}/events?session=s-1").json()["results"]
    assert [event["kind"] for event in reversed(listed)] == [
        "user_message",
        "assistant_turn",
        "tool_result",
        "tool_result",
    ]


def test_events_are_listed_newest_first_and_filtered(side: Side) -> None:
    for text in ("First fact.", "Second fact."):
        side.caller.post(f"{side.base}/events", event_body(text))
    listed = side.caller.get(f"{side.base}/events?status=received").json()["results"]
    assert listed[0]["event_id"] > listed[1]["event_id"]
    assert side.caller.get(f"{side.base}/events?status=dead").json()["results"] == []
    assert side.caller.get(f"{side.base}/events?status=lost").status_code == 400


def test_a_read_only_key_reads_and_does_not_write(side: Side) -> None:
    reader = caller_for(side.tenant, permissions=["memory:read"])
    assert reader.get(f"{side.base}/events").status_code == 200
    refused = reader.post(f"{side.base}/events", event_body())
    assert refused.status_code == 403
    assert codes(refused) == {"": "permission_denied"}


def test_a_key_of_one_end_user_writes_and_sees_that_memory_only(side: Side) -> None:
    own, other = (
        side.caller.post(f"{side.base}/events", event_body(user_id=ref)).json()["event_id"]
        for ref in ("ann", "ben")
    )
    with workspace_scope(side.workspace):
        ann = side.workspace.end_users.get(ref="ann")
    caller = caller_for(side.tenant, workspace=side.workspace, end_user=ann)
    assert caller.get(f"{side.base}/events/{own}").status_code == 200
    assert caller.get(f"{side.base}/events/{other}").status_code == 404
    assert caller.get(f"{side.base}/events?user_id=ben").status_code == 404
    assert caller.post(f"{side.base}/events", event_body(user_id="ben")).status_code == 404
    listed = caller.get(f"{side.base}/events").json()["results"]
    assert [event["event_id"] for event in listed] == [own]


def test_private_events_are_listed_only_with_their_end_user(side: Side) -> None:
    side.caller.post(f"{side.base}/events", event_body(user_id="ann"))
    assert side.caller.get(f"{side.base}/events").json()["results"] == []
    [event] = side.caller.get(f"{side.base}/events?user_id=ann").json()["results"]
    assert event["user_id"] == "ann"
    assert len(side.caller.get(f"{side.base}/events?user_id=*").json()["results"]) == 1


def test_asking_for_everyones_memory_needs_its_permission(side: Side) -> None:
    reader = caller_for(side.tenant, permissions=["memory:read"])
    assert reader.get(f"{side.base}/events?user_id=*").status_code == 403


def replay(api: Caller, path: str, text: str, key: str = "key-1") -> object:
    return api.post(path, event_body(text), Idempotency_Key=key)


def test_the_same_key_and_body_get_the_first_answer_again(side: Side) -> None:
    path = f"{side.base}/events"
    first, second = replay(side.caller, path, "A fact."), replay(side.caller, path, "A fact.")
    assert first.content == second.content
    assert first.status_code == second.status_code == 202
    assert "Idempotent-Replayed" not in first
    assert second["Idempotent-Replayed"] == "true"
    assert stored(side.workspace) == 1


def test_the_same_key_with_another_body_is_422(side: Side) -> None:
    path = f"{side.base}/events"
    replay(side.caller, path, "A fact.")
    refused = replay(side.caller, path, "Another fact.")
    assert refused.status_code == 422
    assert codes(refused) == {"": "idempotency_mismatch"}


def test_a_key_belongs_to_one_api_key_and_one_address(side: Side) -> None:
    replay(side.caller, f"{side.base}/events", "A fact.")
    other = caller_for(side.tenant)
    assert "Idempotent-Replayed" not in replay(other, f"{side.base}/events", "Another fact.")
    batch = side.caller.post(
        f"{side.base}/events:batch", {"events": [event_body()]}, Idempotency_Key="key-1"
    )
    assert batch.status_code == 202


def test_a_refused_request_may_be_mended_under_the_same_key(side: Side) -> None:
    path = f"{side.base}/events"
    assert replay(side.caller, path, "").status_code == 400
    assert replay(side.caller, path, "A fact.").status_code == 202


@pytest.mark.parametrize("key", ["", "k" * 256, "a\tb", "ключ".encode().decode("latin-1"), "\x7f"])
def test_a_key_that_cannot_be_one_is_refused(side: Side, key: str) -> None:
    refused = replay(side.caller, f"{side.base}/events", "A fact.", key)
    assert refused.status_code == 400
    assert codes(refused) == {"Idempotency-Key": "invalid_idempotency_key"}
    assert stored(side.workspace) == 0

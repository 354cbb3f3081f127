"""Receiving events: all or none, once, with secrets masked before anything is stored."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, HolamemError, IdempotencyMismatch, InvalidInput, NotFound
from holamem.ids import new_id
from tests.workspaces.memory import draft, principal_of, remember
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import (
    EventDraft,
    IdempotencyRequest,
    Received,
    receive_events,
)
from workspaces.services.messages import messages_to_drafts
from workspaces.services.tenants import update_workspace

FACT = "The Atlas gateway listens on port 8443."


def receive(workspace: Workspace, *drafts: EventDraft, **values: object) -> Received:
    return receive_events(
        workspace,
        drafts=drafts,
        principal=principal_of(workspace),
        **values,  # type: ignore[arg-type]
    )


def stored_events(workspace: Workspace) -> int:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.events.count()


def request(key: str, body: str = "a") -> IdempotencyRequest:
    return IdempotencyRequest(KEY_ID, "/api/v1/workspaces/w/events", key, body)


KEY_ID = new_id()


def test_a_batch_with_one_bad_event_stores_nothing(workspace: Workspace) -> None:
    with pytest.raises(InvalidInput) as caught:
        receive(workspace, draft(FACT), draft(" \u200b "))
    assert caught.value.field == "text"
    assert caught.value.detail["index"] == 1
    assert stored_events(workspace) == 0


def test_an_idempotency_key_replays_the_first_answer(workspace: Workspace) -> None:
    key = str(new_id())
    first = receive(workspace, draft(FACT), idempotency=request(key))
    again = receive(workspace, draft(FACT), idempotency=request(key))
    assert (again.event_ids, again.replayed) == (first.event_ids, True)
    with pytest.raises(IdempotencyMismatch):
        receive(workspace, draft("Something else."), idempotency=request(key, body="b"))
    assert stored_events(workspace) == 1


def test_one_source_item_is_one_event_whoever_sends_it(workspace: Workspace) -> None:
    named = draft(FACT, source="chat", external_id="m-1")
    first, second = receive(workspace, named), receive(workspace, replace(named, text="Edited."))
    assert first.event_ids == second.event_ids
    twice = receive(workspace, *[draft(FACT, source="chat", external_id="m-2")] * 2)
    assert twice.event_ids[0] == twice.event_ids[1]
    with pytest.raises(Conflict):
        receive(workspace, replace(named, user_id="ada"))


def test_secrets_are_masked_before_anything_is_stored(workspace: Workspace) -> None:
    secret = "sk-proj-Zq8fJ2mN4pR6tV8xB1dF3hK5"
    [result] = remember(
        workspace,
        draft(f"网关的密钥是{secret}，请记住 Atlas gateway 用它。", metadata={"token": secret}),
    )
    with workspace_scope(workspace):
        event = workspace.events.get(id=result.event_id)
    assert secret not in event.payload_text
    assert secret not in str(event.metadata)
    assert event.masked_kinds


def test_a_private_write_makes_the_end_user_once(workspace: Workspace) -> None:
    receive(workspace, draft(FACT, user_id="Ada Lovelace"), draft("Tea.", user_id="Ada Lovelace"))
    with workspace_scope(workspace):
        user = workspace.end_users.get()
    assert (user.ref, user.slug) == ("Ada Lovelace", "ada-lovelace")
    receive(workspace, draft(FACT, user_id="ada lovelace"))
    with workspace_scope(workspace):
        assert workspace.end_users.values("slug").distinct().count() == 2


def test_a_workspace_may_require_an_end_user(workspace: Workspace) -> None:
    strict = update_workspace(workspace, settings={"user_id": "required"})
    with pytest.raises(InvalidInput) as caught:
        receive(strict, draft(FACT))
    assert caught.value.field == "user_id"


def test_a_bound_key_writes_for_its_end_user_only(workspace: Workspace) -> None:
    receive(workspace, draft(FACT, user_id="ada"))
    with workspace_scope(workspace):
        ada = workspace.end_users.get(ref="ada")
    bound = replace(principal_of(workspace), end_user_id=ada.id, end_user_ref="ada")
    received = receive_events(workspace, drafts=[draft("Ada likes tea.")], principal=bound)
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.events.get(id=received.event_ids[0]).scope_id == ada.id
    with pytest.raises(NotFound):
        receive_events(workspace, drafts=[draft(FACT, user_id="bob")], principal=bound)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"kind": "user_message", "succeeded": True}, "succeeded"),
        ({"category": "integration"}, "provider"),
        ({"kind": "sync_item", "provider": "p"}, "account"),
        ({"kind": "sync_item", "provider": "p", "account": "a"}, "external_id"),
        ({"provider": "p"}, "provider"),
        ({"user_id": "*"}, "user_id"),
    ],
)
def test_rules_between_fields_name_the_field(
    workspace: Workspace, values: dict[str, object], field: str
) -> None:
    with pytest.raises(HolamemError) as caught:
        receive(workspace, draft(FACT, **values))
    assert caught.value.field == field
    assert stored_events(workspace) == 0


def test_chat_messages_become_events_without_system_text() -> None:
    at = datetime(2026, 5, 20, tzinfo=timezone(timedelta(hours=8)))
    drafts = messages_to_drafts(
        [
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "content": "Atlas is down.", "created_at": at},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "tool", "content": "restarted"},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "content": [{"type": "text", "text": "denied"}],
                        "is_error": True,
                    },
                    {"type": "text", "text": "Why?"},
                ],
            },
        ],
        user_id="ada",
        session="s-1",
    )
    assert [(item.kind, item.text, item.succeeded) for item in drafts] == [
        ("user_message", "Atlas is down.", None),
        ("tool_result", "restarted", True),
        ("tool_result", "denied", False),
        ("user_message", "Why?", None),
    ]
    assert [(item.occurred_at, item.offset_minutes) for item in drafts[:2]] == [
        (at, 480),
        (None, None),
    ]
    assert {(item.user_id, item.session) for item in drafts} == {("ada", "s-1")}
    with pytest.raises(InvalidInput, match="Unknown role"):
        messages_to_drafts([{"role": "wizard", "content": "x"}], user_id=None, session="")

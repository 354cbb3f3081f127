"""Connectors and deletions over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.environment import get_environment
from tests.api.client import Caller, Side, caller_for, codes, new_side
from tests.verification import assert_clean
from tests.workspaces.connectors.folders import allow, write
from tests.workspaces.memory import drain


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    allow(monkeypatch, str(tmp_path))
    notes = tmp_path / "notes"
    notes.mkdir()
    yield notes
    monkeypatch.undo()
    get_environment.cache_clear()


def body(folder: Path, **values: Any) -> dict[str, Any]:
    return {
        "provider": "files",
        "account": "notes",
        "kind": "markdown_folder",
        "settings": {"path": str(folder)},
        **values,
    }


def test_a_folder_is_connected_synchronised_and_looked_at(
    side: Side, api: Caller, base: str, folder: Path
) -> None:
    write(folder, "a.md", "Service a uses port 1.")
    write(folder, "bad.md", b"\xff")
    made = api.post(f"{base}/integrations", body(folder))
    assert made.status_code == 201
    assert made.json()["status"] == "idle"
    assert made.json()["tree_key"] == "files:notes"
    assert made.json()["progress"] == {
        "seen": 0,
        "changed": 0,
        "deleted": 0,
        "failed": 0,
        "held_deletions": 0,
        "total": None,
        "failures": [],
    }
    asked = api.post(f"{base}/integrations/files/notes/sync")
    assert asked.status_code == 202
    assert asked.json()["status"] == "queued"
    assert asked.json()["integration_id"] == made.json()["integration_id"]
    jobs = api.get(f"{base}/jobs?topic=connector.sync").json()["results"]
    assert [job["job_id"] for job in jobs] == [asked.json()["job_id"]]
    assert api.get(f"{base}/status").json()["idle"] is False
    drain(side.workspace)
    seen = api.get(f"{base}/integrations/files/notes").json()
    assert (seen["status"], seen["error"]) == ("idle", "")
    assert seen["progress"]["changed"] == seen["progress"]["failed"] == 1
    assert seen["progress"]["failures"] == [
        {"external_id": "bad.md", "reason": "The text is not UTF-8 (byte 0)."}
    ]
    assert api.get(f"{base}/integrations").json()["results"] == [seen]
    assert api.get(f"{base}/trees/files:notes").json()["leaf_count"] == 1
    assert api.get(f"{base}/status").json()["idle"] is True
    actions = [line["action"] for line in api.get(f"{base}/audit").json()["results"]]
    assert actions == ["integration.synced", "integration.created"]
    assert_clean(side.workspace)


def test_deletions_of_a_source_that_looks_emptied_wait_for_a_word(
    side: Side, api: Caller, base: str, folder: Path
) -> None:
    path = write(folder, "a.md", "Service a uses port 1.")
    address = f"{base}/integrations/files/notes"
    api.post(f"{base}/integrations", body(folder))
    api.post(f"{address}/sync", {})
    drain(side.workspace)
    path.unlink()
    api.post(f"{address}/sync", {"allow_deletions": False})
    drain(side.workspace)
    held = api.get(address).json()
    assert (held["status"], held["progress"]["held_deletions"]) == ("failed", 1)
    assert api.get(f"{base}/trees/files:notes").json()["leaf_count"] == 1
    assert codes(api.post(f"{address}/sync", {"allow_deletions": "yes"})) == {
        "allow_deletions": "invalid_type"
    }
    api.post(f"{address}/sync", {"allow_deletions": True})
    drain(side.workspace)
    assert api.get(address).json()["progress"]["deleted"] == 1
    assert_clean(side.workspace)


def test_a_stopped_integration_keeps_what_it_brought(
    side: Side, api: Caller, base: str, folder: Path
) -> None:
    write(folder, "a.md", "Service a uses port 1.")
    api.post(f"{base}/integrations", body(folder))
    api.post(f"{base}/integrations/files/notes/sync")
    drain(side.workspace)
    assert api.send("DELETE", f"{base}/integrations/files/notes").status_code == 204
    assert api.get(f"{base}/integrations/files/notes").json()["enabled"] is False
    refused = api.post(f"{base}/integrations/files/notes/sync")
    assert refused.status_code == 409
    assert api.get(f"{base}/trees/files:notes").json()["leaf_count"] == 1


@pytest.mark.parametrize(
    ("values", "field", "code"),
    [
        ({"provider": "a:b"}, "provider", "invalid"),
        ({"provider": "interaction"}, "provider", "invalid"),
        ({"provider": 7}, "provider", "invalid_type"),
        ({"account": "a/b"}, "account", "invalid"),
        ({"account": ""}, "account", "blank"),
        ({"kind": "telepathy"}, "kind", "invalid_choice"),
        ({"settings": []}, "settings", "invalid_type"),
        ({"settings": {}}, "settings.path", "invalid"),
        ({"settings": {"path": "/etc"}}, "settings.path", "invalid"),
        ({"settings": {"path": "/x", "more": 1}}, "settings.more", "invalid"),
        ({"interval_minutes": 0}, "interval_minutes", "min_value"),
        ({"cursor": {}}, "cursor", "unknown_field"),
        ({"status": "idle"}, "status", "unknown_field"),
    ],
)
def test_what_cannot_be_connected_names_its_field(
    api: Caller, base: str, folder: Path, values: dict[str, Any], field: str, code: str
) -> None:
    refused = api.post(f"{base}/integrations", body(folder, **values))
    assert (refused.status_code, codes(refused)) == (400, {field: code})


def test_without_roots_the_answer_names_the_setting(
    api: Caller, base: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, "")
    refused = api.post(f"{base}/integrations", body(folder))
    assert (refused.status_code, codes(refused)) == (400, {"settings.path": "invalid"})
    assert "HOLAMEM_CONNECTOR_ROOTS" in refused.json()["errors"][0]["message"]


def test_an_account_is_connected_once(api: Caller, base: str, folder: Path) -> None:
    assert api.post(f"{base}/integrations", body(folder)).status_code == 201
    again = api.post(f"{base}/integrations", body(folder))
    assert (again.status_code, codes(again)) == (409, {"account": "conflict"})


def test_names_in_other_scripts_are_addresses_too(api: Caller, base: str, folder: Path) -> None:
    api.post(f"{base}/integrations", body(folder, provider="维基", account="支付 团队"))
    found = api.get(f"{base}/integrations/维基/支付 团队")
    assert (found.status_code, found.json()["account"]) == (200, "支付 团队")


@pytest.mark.parametrize("verb", [("GET", ""), ("DELETE", ""), ("POST", "/sync")])
def test_another_tenants_integration_is_the_same_as_none(
    side: Side, folder: Path, verb: tuple[str, str]
) -> None:
    side.caller.post(f"{side.base}/integrations", body(folder))
    stranger = new_side()
    method, rest = verb
    foreign = stranger.caller.send(method, f"{stranger.base}/integrations/files/notes{rest}")
    nobody = stranger.caller.send(method, f"{stranger.base}/integrations/files/nobody{rest}")
    assert foreign.status_code == nobody.status_code == 404
    assert {**foreign.json(), "instance": ""} == {**nobody.json(), "instance": ""}


def test_a_key_of_one_end_user_looks_but_changes_nothing(
    side: Side, api: Caller, base: str, folder: Path
) -> None:
    from workspaces.services.end_users import ensure_end_user

    api.post(f"{base}/integrations", body(folder))
    with workspace_scope(side.workspace, ALL_SCOPES):
        user = side.workspace.end_users.get(id=ensure_end_user(side.workspace, ref="u-1"))
    bound = caller_for(side.tenant, workspace=side.workspace, end_user=user)
    assert bound.get(f"{base}/integrations/files/notes").status_code == 200
    assert bound.post(f"{base}/integrations/files/notes/sync").status_code == 404
    assert bound.send("DELETE", f"{base}/integrations/files/notes").status_code == 404
    made = bound.post(f"{base}/integrations", body(folder, account="mine"))
    assert made.status_code == 403


OBJECT: dict[str, Any] = {
    "kind": "sync_item",
    "provider": "tickets",
    "account": "team",
    "external_id": "T-1",
}


@pytest.mark.parametrize("text", [None, ""])
def test_a_deletion_over_http_makes_the_leaf_inactive(
    side: Side, api: Caller, base: str, text: str | None
) -> None:
    first = {**OBJECT, "text": "Ticket T-1 is open.", "occurred_at": "2026-05-20T09:00:00Z"}
    api.post(f"{base}/events", first)
    gone = {**OBJECT, "deleted": True, "occurred_at": "2026-05-21T09:00:00Z"}
    if text is not None:
        gone["text"] = text
    answer = api.post(f"{base}/events", gone)
    assert answer.status_code == 202
    drain(side.workspace)
    result = api.get(f"{base}/events/{answer.json()['event_id']}").json()
    assert (result["status"], result["chunks"]) == ("processed", [])
    with workspace_scope(side.workspace, ALL_SCOPES):
        leaf = side.workspace.leaves.get()
    shown = api.get(f"{base}/leaves/{leaf.id}").json()
    assert (shown["status"], shown["valid_until"]) == ("inactive", "2026-05-21T09:00:00Z")
    assert [line["deleted"] for line in api.get(f"{base}/events").json()["results"]] == [
        True,
        False,
    ]
    assert_clean(side.workspace)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"deleted": True, "text": "Still here."}, {"text": "invalid"}),
        ({"deleted": True, "external_id": None}, {"external_id": "invalid"}),
        (
            {"deleted": True, "kind": "user_message", "provider": None, "account": None},
            {"deleted": "invalid"},
        ),
        ({"deleted": "yes"}, {"text": "required", "deleted": "invalid_type"}),
        ({"deleted": False}, {"text": "required"}),
        ({}, {"text": "required"}),
        ({"text": " "}, {"text": "blank"}),
        ({"text": 7}, {"text": "invalid_type"}),
        ({"deleted": True, "text": None}, {"text": "null"}),
        ({"kind": "song"}, {"text": "required", "kind": "invalid_choice"}),
    ],
)
def test_a_deletion_is_told_from_a_text_that_is_missing(
    api: Caller, base: str, values: dict[str, Any], expected: dict[str, str]
) -> None:
    given = {**OBJECT, **values}
    sent = {k: v for k, v in given.items() if v is not None or k == "text"}
    alone = api.post(f"{base}/events", sent)
    assert (alone.status_code, codes(alone)) == (400, expected)
    batch = api.post(f"{base}/events:batch", {"events": [sent]})
    assert codes(batch) == {f"events[0].{name}": code for name, code in expected.items()}


def test_a_batch_may_hold_texts_and_deletions(side: Side, api: Caller, base: str) -> None:
    said = {**OBJECT, "text": "Ticket T-1 is open.", "occurred_at": "2026-05-20T09:00:00Z"}
    gone = {**OBJECT, "deleted": True, "occurred_at": "2026-05-20T10:00:00Z"}
    answer = api.post(f"{base}/events:batch", {"events": [said, gone]})
    assert answer.status_code == 202
    drain(side.workspace)
    with workspace_scope(side.workspace, ALL_SCOPES):
        assert side.workspace.leaves.get().status == "inactive"


def test_a_dry_run_of_a_deletion_decides_nothing(api: Caller, base: str) -> None:
    answer = api.post(f"{base}/events?dry_run=true", {**OBJECT, "deleted": True})
    assert (answer.status_code, answer.json()) == (200, {"status": "dry_run", "chunks": []})

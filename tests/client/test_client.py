"""The client and the command line against the real server."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from holamem.client import (
    AsyncMemory,
    ChatOptions,
    Connection,
    InvalidRequest,
    Memory,
    NotFound,
    Unreachable,
)
from holamem.client.chats import plan, sending
from holamem.client.commands import main
from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.api.client import Side, new_side
from tests.client import exports
from tests.verification import assert_clean
from tests.workspaces.memory import drain


@pytest.fixture
def side(web_url: str) -> Side:
    return new_side()


@pytest.fixture
def connection(web_url: str, side: Side) -> Connection:
    return Connection(url=web_url, api_key=str(side.caller.token), workspace="notes")


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, connection: Connection) -> None:
    monkeypatch.setenv("HOLAMEM_URL", connection.url)
    monkeypatch.setenv("HOLAMEM_API_KEY", connection.api_key)
    monkeypatch.setenv("HOLAMEM_WORKSPACE", connection.workspace)


def stored(side: Side) -> list[Any]:
    with workspace_scope(side.workspace, ALL_SCOPES):
        return list(side.workspace.events.order_by("occurred_at", "id"))


def test_what_is_remembered_is_retrieved_and_browsed(side: Side, connection: Connection) -> None:
    with Memory(connection) as memory:
        sent = memory.remember("The Atlas gateway listens on port 8443.", admission="accepted")
        assert (sent.status, sent.chunks) == ("received", ())
        drain(side.workspace)
        answer = memory.retrieve("Which port does the Atlas gateway use?", explain=True)
        assert "8443" in answer.retrieval_pack.known_facts[0].text
        assert answer.evidence[0].citation.body_path
        assert answer.explain["timings_ms"]
        assert "interaction" in [node["path"] for node in memory.browse().children]
        [tree] = memory.browse(path="interaction", depth=2).children
        assert tree["children"][0]["node_kind"] == "leaf"
        dry = memory.remember("Mara owns the Atlas gateway.", dry_run=True)
        assert (dry.status, len(dry.chunks), dry.event_id) == ("dry_run", 1, None)
    assert len(stored(side)) == 1
    assert_clean(side.workspace)


def test_nothing_known_is_an_answer_with_a_gap(connection: Connection) -> None:
    async def ask() -> Any:
        async with AsyncMemory(connection) as memory:
            return await memory.retrieve("谁负责雅典娜项目？")

    answer = asyncio.run(ask())
    assert (answer.coverage.level, answer.evidence) == ("none", ())
    assert answer.gaps[0].gap_id


def test_refusals_name_the_field(connection: Connection) -> None:
    with Memory(connection) as memory:
        with pytest.raises(InvalidRequest) as caught:
            memory.remember("x", kind="gossip")
        assert caught.value.errors[0].field == "kind"
        elsewhere = Connection(url=connection.url, api_key=connection.api_key, workspace="../me")
        with pytest.raises(NotFound):
            Memory(elsewhere).retrieve("Who?")


def test_an_import_keeps_times_and_is_stored_once(
    tmp_path: Path, side: Side, connection: Connection
) -> None:
    path = exports.written(tmp_path / "conversations.json", exports.chatgpt())
    with Memory(connection) as memory:
        first = memory.import_chats(path, ChatOptions(user_id="mara"))
        again = asyncio.run(_import(connection, path))
    assert (first.events, first.conversations, first.refused) == (5, 2, ())
    assert again.events == 5
    events = stored(side)
    assert [event.occurred_at.timestamp() for event in events] == [
        exports.DAY + offset for offset in (-86_400, -86_390, 4, 7, 8)
    ]
    assert len({event.scope_id for event in events} - {side.workspace.id}) == 1
    drain(side.workspace)
    assert_clean(side.workspace)


async def _import(connection: Connection, path: Path) -> Any:
    async with AsyncMemory(connection) as memory:
        return await memory.import_chats(path, ChatOptions(user_id="mara"))


def test_an_import_goes_on_after_a_break(
    tmp_path: Path, side: Side, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "BATCH_EVENTS", 2)
    path = exports.written(tmp_path / "conversations.json", exports.chatgpt())
    real = httpx2.HTTPTransport()
    sent = 0

    def breaking(request: httpx2.Request) -> httpx2.Response:
        nonlocal sent
        sent += 1
        if sent == 2:
            real.handle_request(request)  # it arrives, and the answer is lost
        if sent > 1:
            raise httpx2.ReadError("broken")
        return real.handle_request(request)

    transport = httpx2.MockTransport(breaking)
    with pytest.raises(Unreachable):
        Memory(connection, transport=transport, sleep=lambda _: None).import_chats(path)
    assert len(stored(side)) == 4
    seen: list[tuple[int, int]] = []
    report = Memory(connection).import_chats(path, progress=lambda *p: seen.append(p))
    assert (report.events, seen) == (5, [(2, 5), (4, 5), (5, 5)])
    assert len(stored(side)) == 5


def test_a_message_that_the_server_refuses_stops_no_other(
    tmp_path: Path, side: Side, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = exports.written(tmp_path / "conversations.json", exports.claude())
    monkeypatch.setattr(plan, "KINDS", {**plan.KINDS, "assistant": "gossip"})
    report = Memory(connection).import_chats(path)
    assert (report.events, len(report.refused)) == (2, 1)
    assert "kind" in report.refused[0].message
    assert len(stored(side)) == 2


@pytest.mark.usefixtures("shell")
def test_the_command_line_has_the_same_verbs(
    side: Side, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["--json", "remember", "贝拉负责雅典娜项目。", "--at", "2026-05-20T09:30:00+08:00"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["status"] == "received"
    drain(side.workspace)
    assert main(["retrieve", "谁负责雅典娜项目？"]) == 0
    assert "贝拉" in capsys.readouterr().out
    assert main(["browse", "--depth", "2"]) == 0
    assert "interaction" in capsys.readouterr().out
    path = str(exports.written(tmp_path / "conversations.json", exports.claude()))
    assert main(["import-chats", path]) == 0
    assert "Nothing was sent" in capsys.readouterr().out
    assert len(stored(side)) == 1
    assert main(["--json", "import-chats", path, "--yes"]) == 0
    assert json.loads(capsys.readouterr().out)["events"] == 3
    assert len(stored(side)) == 4


@pytest.mark.usefixtures("shell")
def test_a_failed_command_says_why_and_exits_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["remember", "x", "--kind", "gossip"]) == 1
    assert "kind:" in capsys.readouterr().err
    assert main(["import-chats", str(exports.written(tmp_path / "a.json", []))]) == 1
    assert "no message that could be sent" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["forget-everything"])

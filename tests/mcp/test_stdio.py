"""Lines in, lines out: what breaks a line breaks no other."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from holamem.clock import now
from holamem.database.scope import system_scope
from retrieval.mcp import stdio
from tests.api.client import Side, new_side
from workspaces.models.tenancy import ApiKey

PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'


@pytest.fixture(scope="module")
def side(django_db_setup: None) -> Side:
    return new_side()


def exchange(token: str | None, raw: bytes) -> list[Any]:
    outgoing = io.BytesIO()
    stdio.serve(str(token), incoming=io.BytesIO(raw), outgoing=outgoing)
    return [json.loads(line) for line in outgoing.getvalue().splitlines()]


def test_bad_lines_are_answered_and_the_next_one_works(side: Side, settings: Any) -> None:
    settings.MAX_BODY_BYTES = 1000
    huge = b'{"jsonrpc": "2.0", "id": 2, "method": "' + b"x" * 5000 + b'"}'
    raw = b"\n".join([b"{", b"", b"[]", b"\xff", huge, b'{"method": "x"}', PING])
    *bad, good = exchange(side.caller.token, raw)
    assert [answer["error"]["code"] for answer in bad] == [-32700, -32600, -32700, -32700, -32600]
    assert good["result"] == {"resultType": "complete"}


def test_a_key_that_was_revoked_meanwhile_is_told_so(side: Side) -> None:
    from tests.api.client import caller_for

    caller = caller_for(side.tenant)
    assert "result" in exchange(caller.token, PING)[0]
    with system_scope():
        ApiKey.objects.filter(prefix=str(caller.token).split("_")[1]).update(revoked_at=now())
    [answer] = exchange(caller.token, PING)
    assert answer["error"]["message"] == "The API key was revoked."


def test_without_a_key_the_command_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLAMEM_API_KEY", raising=False)
    with pytest.raises(CommandError, match="HOLAMEM_API_KEY"):
        call_command("mcp")

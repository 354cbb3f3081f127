"""Which tools a run's model is shown."""

import pytest
from jsonschema import SchemaError

from agents.models.conversations import Agent
from agents.tools.arguments import arguments_sha256
from agents.tools.registry import Tool, all_tools, register_tool, visible_tools
from agents.tools.standard import STANDARD
from agents.tools.starters import all_permissions

READERS = {"memory_browse", "memory_read", "memory_retrieve", "memory_search", "ping"}
ALL = [tool.name for tool in STANDARD]


def names(mode: str, *permissions: str, tools: list[str] = ALL) -> set[str]:
    config = {"mode": mode, "tools": tools}
    return {tool.name for tool in visible_tools(config, permissions=all_permissions(permissions))}


def test_a_tool_is_visible_when_bound_allowed_and_covered_by_the_mode() -> None:
    both = ("memory:read", "memory:write")
    assert names(Agent.Mode.ASSIST, *both) == {*READERS, "memory_write"}
    assert names(Agent.Mode.AUTONOMOUS, "admin") == {*READERS, "memory_write"}
    assert names(Agent.Mode.OBSERVE, *both) == READERS
    assert names(Agent.Mode.ASSIST, "memory:read") == READERS
    assert names(Agent.Mode.ASSIST, "agents:run") == {"ping"}
    assert names(Agent.Mode.ASSIST, *both, tools=["ping", "shell"]) == {"ping"}
    assert names("unheard of", "admin") == set()


def test_definitions_are_what_the_chat_api_takes() -> None:
    for tool in STANDARD:
        definition = tool.definition()
        assert definition["type"] == "function"
        assert definition["function"]["parameters"]["additionalProperties"] is False
        assert "user_id" not in definition["function"]["parameters"]["properties"]


def test_a_tool_that_cannot_be_described_is_not_registered() -> None:
    def never(*_: object) -> None: ...

    with pytest.raises(SchemaError):
        register_tool(Tool("bad", "", {"type": "thing"}, never))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="capability"):
        register_tool(Tool("bad", "", {}, never, capabilities=frozenset({"fly"})))  # type: ignore[arg-type]
    assert "bad" not in all_tools()


def test_arguments_have_one_digest_however_they_are_written() -> None:
    assert arguments_sha256({"a": 1, "b": "支付"}) == arguments_sha256({"b": "支付", "a": 1})
    assert arguments_sha256({"a": 1}) != arguments_sha256({"a": True})
    assert arguments_sha256({"a": "1"}) != arguments_sha256({"a": 1})

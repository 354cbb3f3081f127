"""The tools that every installation has."""

from agents.tools.durable_tools import MEMORY_BROWSE, MEMORY_RETRIEVE, PING
from agents.tools.hot_tools import MEMORY_READ, MEMORY_SEARCH, MEMORY_WRITE
from agents.tools.registry import register_tool

STANDARD = (PING, MEMORY_READ, MEMORY_WRITE, MEMORY_SEARCH, MEMORY_RETRIEVE, MEMORY_BROWSE)


def register() -> None:
    """Called once when the app is ready."""
    for tool in STANDARD:
        register_tool(tool)

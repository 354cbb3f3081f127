"""What agents outside of the runtime may read of the hot layer, as tools of `/mcp`."""

from retrieval.mcp.registry import Tool, register_tool
from workspaces.models.tenancy import ApiKey

MEMORY_READ = Tool(
    name="memory_read",
    title="Read text memory",
    description=(
        "Read the short notes that every session begins with: `index` lists the topics, one line"
        " each; then read a topic by its name. `scope` is `workspace`, or `user` for the notes"
        " about one person."
    ),
    operation_id="text_memory_get",
    method="GET",
    path="text-memory/{scope}/{name}",
    permission=ApiKey.Permission.MEMORY_READ,
    defaults={"scope": "workspace", "name": "index"},
)
MEMORY_SEARCH = Tool(
    name="memory_search",
    title="Search conversations",
    description=(
        "Search what was said in the sessions of this workspace, word by word, in English and"
        " Chinese. For what is known rather than what was said, use memory_retrieve."
    ),
    operation_id="messages_search",
    method="GET",
    path="messages:search",
    permission=ApiKey.Permission.MEMORY_READ,
)


def register() -> None:
    register_tool(MEMORY_READ)
    register_tool(MEMORY_SEARCH)

"""What a person copies to connect a program: filled with this address and this workspace."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

ADDRESS, WORKSPACE = "{{address}}", "{{workspace}}"

CURL = """\
curl -sS -X POST {{address}}/api/v1/workspaces/{{workspace}}/events \\
  -H "Authorization: Bearer $HOLAMEM_API_KEY" -H "Content-Type: application/json" \\
  -d '{"kind": "user_message", "text": "The staging server listens on port 8080."}'

curl -sS -X POST {{address}}/api/v1/workspaces/{{workspace}}/memory/retrieve \\
  -H "Authorization: Bearer $HOLAMEM_API_KEY" -H "Content-Type: application/json" \\
  -d '{"query": "Which port does the staging server use?"}'
"""

PYTHON = """\
from holamem.client import Connection, Memory

with Memory(Connection(url="{{address}}", workspace="{{workspace}}")) as memory:
    memory.remember("The staging server listens on port 8080.", wait=True)
    print(memory.retrieve("Which port does the staging server use?").prompt)
"""

MCP = """\
{
  "mcpServers": {
    "holamem": {
      "type": "http",
      "url": "{{address}}/mcp",
      "headers": {"Authorization": "Bearer ${HOLAMEM_API_KEY}"}
    }
  }
}
"""

OPENAI_AGENTS = """\
import asyncio
import os

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp

SERVER = {
    "url": "{{address}}/mcp",
    "headers": {"Authorization": "Bearer " + os.environ["HOLAMEM_API_KEY"]},
}
INSTRUCTIONS = (
    "Call memory_retrieve before you answer, and memory_remember for what is worth keeping."
    ' The workspace is "{{workspace}}".'
)


async def main():
    async with MCPServerStreamableHttp(params=SERVER, name="holamem") as memory:
        agent = Agent(name="Assistant", instructions=INSTRUCTIONS, mcp_servers=[memory])
        result = await Runner.run(agent, "Which port does the staging server use?")
        print(result.final_output)


asyncio.run(main())
"""

LANGGRAPH = """\
import asyncio
import os

from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.graph import START, MessagesState, StateGraph

SERVER = {
    "transport": "streamable_http",
    "url": "{{address}}/mcp",
    "headers": {"Authorization": "Bearer " + os.environ["HOLAMEM_API_KEY"]},
}


async def main():
    tools = await MultiServerMCPClient({"holamem": SERVER}).get_tools()
    retrieve = next(tool for tool in tools if tool.name == "memory_retrieve")

    async def recall(state: MessagesState):
        question = state["messages"][-1].content
        found = await retrieve.ainvoke({"workspace": "{{workspace}}", "query": question})
        return {"messages": [{"role": "system", "content": found}]}

    graph = StateGraph(MessagesState)
    graph.add_node("recall", recall)  # your model's node comes after it
    graph.add_edge(START, "recall")
    question = {"role": "user", "content": "Which port does the staging server use?"}
    result = await graph.compile().ainvoke({"messages": [question]})
    print(result["messages"][-1].content)


asyncio.run(main())
"""


@dataclass(frozen=True, slots=True)
class Snippet:
    """`needs` is a command to run first; empty without one."""

    name: str
    title: str | Promise
    text: str
    needs: str = ""
    note: str | Promise = ""


TEMPLATES = (
    Snippet("curl", "curl", CURL),
    Snippet(
        "python",
        "Python",
        PYTHON,
        note=_("The client is a part of holamem: run it with the Python of its folder."),
    ),
    Snippet(
        "mcp",
        _("MCP client"),
        MCP,
        note=_("For the configuration file of a desktop client or an editor, such as .mcp.json."),
    ),
    Snippet(
        "openai-agents",
        "OpenAI Agents SDK",
        OPENAI_AGENTS,
        needs="pip install openai-agents",
        note=_("Run it outside of holamem's folder, which has a package named agents, too."),
    ),
    Snippet(
        "langgraph",
        "LangGraph",
        LANGGRAPH,
        needs="pip install langgraph langchain-mcp-adapters",
    ),
)


def snippets_for(*, address: str, workspace: str) -> list[Snippet]:
    """`address` as a browser reaches the server, without a slash at its end."""
    return [
        Snippet(
            item.name,
            item.title,
            item.text.replace(ADDRESS, address).replace(WORKSPACE, workspace),
            item.needs,
            item.note,
        )
        for item in TEMPLATES
    ]

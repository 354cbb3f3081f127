"""Sessions whose tools have told something, and a model that distils what a test says."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from agents.distill.passes import Cause, distill_next
from agents.models.conversations import Session
from agents.models.distillation import Distillation
from agents.services.feeding import feed_run
from agents.tools.registry import Tool, ToolContext, ToolOutcome
from tests.agents.replies import Conversation, talk, talk_on, tool
from tests.openai_server import Behaviour
from tests.workspaces.scripted_model import JSON, reply
from workspaces.models.tenancy import Workspace

GRAFANA = "Grafana listens on monitor.internal:3000 and keeps its dashboards for 90 days."
PAYMENT = "支付网关在生产环境使用 9000 端口，日志保存三十天。"


@contextmanager
def telling(*texts: str, succeeded: bool = True) -> Iterator[Tool]:
    """A tool `look` that answers these one after another."""
    left = list(texts)

    def execute(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
        return ToolOutcome(succeeded, left.pop(0), "" if succeeded else "failed")

    with tool(Tool("look", "Looks.", {"type": "object"}, execute, parallel=False)) as made:
        yield made


def told(
    workspace: Workspace,
    *texts: str,
    session: Session | None = None,
    user_id: UUID | None = None,
    succeeded: bool = True,
    arguments: dict[str, Any] | None = None,
) -> Conversation:
    """A run that has ended, whose tool told these texts, fed to memory as the runner does."""
    with telling(*texts, succeeded=succeeded):
        if session is None:
            talking = talk(workspace, tools=("look",), user_id=user_id)
        else:
            talking = talk_on(workspace, session=session)
        talking.reply(*[("look", arguments or {}) for _ in texts])
        talking.work()
        talking.end()
        feed_run(workspace, run=talking.run)
    return talking


def distill(talking: Conversation, *, trigger: str = "manual") -> Distillation | None:
    """Evidence is judged by the tools that are registered."""
    with telling():
        return distill_next(
            talking.workspace,
            session_id=talking.session.id,
            scope_id=talking.session.scope_id,
            cause=Cause(trigger),
        )


def statement(text: str, *results: str, topic: str = "general", **more: Any) -> JSON:
    return {"text": text, "results": list(results), "topic": topic, **more}


def says(*statements: JSON, summaries: tuple[JSON, ...] = ()) -> Behaviour:
    return reply(lambda document: {"statements": list(statements), "summaries": list(summaries)})

"""A run that a worker holds, and replies of its model that ask for tools, without a model."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from unittest import mock
from uuid import UUID

import pytest

from agents.events.append import append_event
from agents.models.conversations import Agent, Message, Session
from agents.models.runs import Approval, Run, RunEvent, ToolCall
from agents.services.agents import default_agent
from agents.services.approvals import create_approval, decide_approval
from agents.services.messages import insert_message, message_payload
from agents.services.runs import start_run, terminate_run
from agents.services.sessions import claim_active_run, create_session, session_scopes
from agents.services.states import lock_session, move
from agents.tools.dispatch import run_calls
from agents.tools.planning import AskedCall, plan_calls
from agents.tools.registry import Tool, forget_tool, register_tool
from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from workspaces.models.tenancy import Workspace
from workspaces.services.end_users import ensure_end_user
from workspaces.services.principals import Principal

OF_KEY = frozenset({"memory:read", "memory:write", "agents:run"})


def person(workspace: Workspace, *, permissions: frozenset[str] = OF_KEY) -> Principal:
    return Principal(
        "user:maya", workspace.tenant_id, None, None, None, permissions, None, is_person=True
    )


def key(
    workspace: Workspace, *, permissions: frozenset[str] = OF_KEY, end_user_id: UUID | None = None
) -> Principal:
    return Principal(
        "key:agent",
        workspace.tenant_id,
        workspace.pk,
        end_user_id,
        None if end_user_id is None else "ana",
        permissions,
        new_id(),
        is_person=False,
    )


def end_user(workspace: Workspace, ref: str = "ana") -> UUID:
    with workspace_scope(workspace):
        return ensure_end_user(workspace, ref=ref)


@dataclass(slots=True)
class Conversation:
    """`run` is running under this process's lease."""

    workspace: Workspace
    session: Session
    run: Run
    calls: list[ToolCall] = field(default_factory=list)
    approval: Approval | None = None

    @contextmanager
    def step(self) -> Iterator[Session]:
        with workspace_scope(self.workspace, session_scopes(self.session)):
            yield lock_session(self.workspace, session_id=self.session.id)

    def reply(self, *asked: tuple[str, dict[str, Any] | str]) -> list[ToolCall]:
        """As the runner does: the message, its calls, and an approval when one of them waits."""
        turn_id = new_id()
        calls = [
            AskedCall(f"call_{n}", name, given if isinstance(given, str) else json.dumps(given))
            for n, (name, given) in enumerate(asked)
        ]
        with self.step() as session:
            self._say(session, turn_id=turn_id)
            self.run.current_turn_id = turn_id
            self.run.save(update_fields=["current_turn_id"])
            self.calls = plan_calls(
                self.workspace, run=self.run, session=session, turn_id=turn_id, asked=calls
            )
            self.approval = self._wait(session, turn_id=turn_id)
        return self.calls

    def say(self, content: str) -> None:
        with self.step() as session:
            self._say(session, turn_id=None, content=content)

    def _say(self, session: Session, *, turn_id: UUID | None, content: str = "") -> None:
        message_id = new_id()
        event = append_event(
            self.workspace,
            session=session,
            type=RunEvent.Type.ASSISTANT_MESSAGE,
            payload=message_payload(message_id, content=content),
            run_id=self.run.id,
            turn_id=turn_id,
        )
        insert_message(
            self.workspace,
            session=session,
            role=Message.Role.ASSISTANT,
            content=content,
            event_seq=event.seq,
            id=message_id,
            run_id=self.run.id,
            turn_id=turn_id,
            prefix_sha256=session.frozen_index_sha256,
        )

    def _wait(self, session: Session, *, turn_id: UUID) -> Approval | None:
        if not any(call.needs_approval for call in self.calls):
            return None
        approval = create_approval(
            self.workspace, run=self.run, session=session, turn_id=turn_id, calls=self.calls
        )
        move(self.run, to=Run.Status.WAITING_APPROVAL, lease_token=None, lease_until=None)
        return approval

    def decide(
        self, *statuses: str, scope: str = "once", by: Principal | None = None, reason: str = ""
    ) -> Approval:
        assert self.approval is not None
        return decide_approval(
            self.workspace,
            scopes=session_scopes(self.session),
            approval_id=self.approval.id,
            decisions=[
                {"tool_call_id": call_id, "status": status, "reason": reason}
                for call_id, status in zip(self.approval.tool_call_ids, statuses, strict=True)
            ],
            scope=scope,
            principal=by or person(self.workspace),
        )

    def take(self) -> None:
        """Under a new lease, as a worker that takes the run up, or over."""
        with self.step():
            self.run.refresh_from_db()
            self.run.workspace = self.workspace
            self.run.lease_token = new_id()
            self.run.lease_until = now() + timedelta(seconds=30)
            self.run.save(update_fields=["lease_token", "lease_until"])

    def work(self) -> list[ToolCall]:
        run_calls(
            self.workspace,
            run=self.run,
            session=self.session,
            calls=self.calls,
            is_cancelled=lambda: False,
        )
        return self.reload()

    def reload(self) -> list[ToolCall]:
        with workspace_scope(self.workspace, session_scopes(self.session)):
            rows = self.workspace.tool_calls.filter(id__in=[call.id for call in self.calls])
            self.calls = list(rows.order_by("position"))
        return self.calls

    def results(self) -> dict[str, str]:
        """What the model reads, by the id of its call; of the last reply."""
        with workspace_scope(self.workspace, session_scopes(self.session)):
            rows = self.workspace.messages.filter(
                session=self.session, role="tool", turn_id=self.run.current_turn_id
            )
            return dict(rows.values_list("tool_call_id", "content"))

    def events(self) -> list[str]:
        with workspace_scope(self.workspace, session_scopes(self.session)):
            rows = self.workspace.run_events.filter(session=self.session).order_by("seq")
            return list(rows.values_list("type", flat=True))

    def end(self) -> None:
        with self.step():
            self.run.refresh_from_db()
            self.run.workspace = self.workspace
            is_running = self.run.status == Run.Status.RUNNING
            status = Run.Status.COMPLETED if is_running else Run.Status.CANCELLED
            terminate_run(self.workspace, run=self.run, status=status, stop_reason=status)


def talk(
    workspace: Workspace,
    *,
    user_id: UUID | None = None,
    mode: str = Agent.Mode.ASSIST,
    tools: tuple[str, ...] = (),
    by: Principal | None = None,
    content: str = "Do it, please.",
    **changes: Any,
) -> Conversation:
    """A session of the default agent, changed as asked, with a run that a worker holds."""
    agent = default_agent(workspace)
    with workspace_scope(workspace):
        bound = [*agent.tools, *tools]
        workspace.agents.filter(id=agent.id).update(mode=mode, tools=bound, **changes)
    session = create_session(workspace, scope_id=user_id or workspace.pk)
    return talk_on(workspace, session=session, by=by, content=content)


def talk_on(
    workspace: Workspace,
    *,
    session: Session,
    by: Principal | None = None,
    content: str = "Do it, please.",
) -> Conversation:
    run = start_run(
        workspace,
        session=session,
        content=content,
        input_mode="queue",
        started_by=by or key(workspace),
    )
    conversation = Conversation(workspace, session, run)
    with conversation.step() as locked:
        claim_active_run(locked, run)
        move(run, to=Run.Status.RUNNING, started_at=now())
        append_event(
            workspace, session=locked, type=RunEvent.Type.RUN_STARTED, payload={}, run_id=run.id
        )
    conversation.take()
    return conversation


@contextmanager
def tool(made: Tool) -> Iterator[Tool]:
    register_tool(made)
    try:
        yield made
    finally:
        forget_tool(made.name)


@contextmanager
def dies_at(point: str) -> Iterator[None]:
    """The worker ends at this point: what it committed stays, what it held is free."""

    def reach(name: str) -> None:
        if name == point:
            raise faults.InjectedFault(name)

    with mock.patch.object(faults, "point", reach), pytest.raises(faults.InjectedFault):
        yield

"""Conversations for tests: a session, what is said in it, and whoever executes its runs."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from agents.models.conversations import Message, Session
from agents.models.runs import Run, RunEvent
from agents.runner import process
from agents.runner.claiming import claim_run
from agents.runner.process import Runner
from agents.runner.turns import execute
from agents.services import token_counts
from agents.services.agents import create_agent
from agents.services.runs import start_run
from agents.services.sessions import create_session
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.environment import get_environment
from holamem.providers import registry
from tests.openai_server import OpenAIServer
from workspaces.models.tenancy import ApiKey, Workspace
from workspaces.services.principals import Principal

SECONDS = 20.0  # a test that waits longer has failed


@contextmanager
def model_server(patch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A scripted model service that the environment names."""
    with OpenAIServer() as server:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef0123")
        patch.setenv("HOLAMEM_CHAT_MODEL", "scripted")
        _forget()
        yield server
    _forget()


def _forget() -> None:
    get_environment.cache_clear()
    registry.reset()
    token_counts.forget()


def principal_of(workspace: Workspace, **changes: Any) -> Principal:
    values: dict[str, Any] = {
        "label": "user:tester",
        "tenant_id": workspace.tenant_id,
        "workspace_id": None,
        "end_user_id": None,
        "end_user_ref": None,
        "permissions": frozenset(ApiKey.Permission.values),
        "key_id": None,
        "is_person": True,
    }
    return Principal(**{**values, **changes})


def open_session(workspace: Workspace, *, scope_id: UUID | None = None, **agent: Any) -> Session:
    """With an agent of its own, which recalls nothing and feeds nothing unless told to."""
    values = {"recall": False, "feeds_memory": False, **agent}
    slug = f"a-{workspace.agents.model._meta.pk.default().hex[-12:]}"
    create_agent(workspace, slug=slug, **values)
    return create_session(workspace, scope_id=scope_id or workspace.pk, agent_slug=slug)


def say(session: Session, content: str = "Hello.", *, input_mode: str = "queue") -> Run:
    return start_run(
        session.workspace,
        session=session,
        content=content,
        input_mode=input_mode,
        started_by=principal_of(session.workspace),
    )


def others(workspace: Workspace) -> list[UUID]:
    """Every other workspace: their runs are other tests' business."""
    with system_scope():
        return list(Workspace.objects.exclude(id=workspace.pk).values_list("id", flat=True))


def work_off(workspace: Workspace) -> int:
    """Execute in this thread, one after the other, whatever is due; returns the number."""
    done = 0
    while (handle := claim_run(busy=others(workspace))) is not None:
        execute(handle)
        done += 1
    return done


@contextmanager
def runner_of(workspace: Workspace, *, threads: int = 4) -> Iterator[Runner]:
    """A runner of this workspace's runs alone, in a thread."""
    not_ours = others(workspace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "claim_run", lambda busy: claim_run(busy=[*busy, *not_ours]))
        patch.setattr(process, "sweep", lambda: 0)
        runner = Runner(threads=threads)
        thread = threading.Thread(target=runner.run, daemon=True)
        thread.start()
        try:
            yield runner
        finally:
            runner.stop()
            thread.join(SECONDS)


def again(run: Run) -> Run:
    """As the database has it now."""
    with workspace_scope(run.workspace, ALL_SCOPES):
        row = run.workspace.runs.select_related("session").get(id=run.id)
    row.workspace = row.session.workspace = run.workspace
    return row


def until(run: Run, *statuses: str, seconds: float = SECONDS) -> Run:
    """The run once it is in one of these states; fails when that takes too long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        run = again(run)
        if run.status in statuses:
            return run
        threading.Event().wait(0.02)
    raise AssertionError(f"the run is still {run.status}")


def wait_for(run: Run, type: str, *, seconds: float = SECONDS) -> None:
    """Until the session's log has an event of this type."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if type in types_of(run.session):
            return
        threading.Event().wait(0.02)
    raise AssertionError(f"there is no {type}")


def messages_of(session: Session) -> list[Message]:
    with workspace_scope(session.workspace, ALL_SCOPES):
        return list(session.workspace.messages.filter(session=session).order_by("event_seq", "id"))


def said(session: Session) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages_of(session)]


def events_of(session: Session) -> list[RunEvent]:
    with workspace_scope(session.workspace, ALL_SCOPES):
        return list(session.workspace.run_events.filter(session=session).order_by("seq"))


def types_of(session: Session) -> list[str]:
    return [event.type for event in events_of(session)]

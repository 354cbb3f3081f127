"""Start, stream, approve, cancel, continue, reconnect: by a plain client, while processes are killed.

The web server and the runner are real processes, and each is killed and started anew in the
middle of what it does. The client knows nothing but the last number that it has seen.
"""

import json
import signal
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Event
from typing import Any

import pytest

from agents.models.conversations import Session
from tests.agents.processes import Process, free_port, runner_process, web_process
from tests.agents.runner.test_crashes import let_leases_run_out
from tests.agents.streaming.client import follow
from tests.agents.talking import messages_of, model_server, open_session
from tests.api.client import caller_for
from tests.openai_server import OpenAIServer
from tests.streamed import calls, ending, says, streams, words
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SAVE = {"action": "save", "name": "gateway", "content": "Port 8443.", "summary": "Its port"}
JSON = dict[str, Any]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with model_server(monkeypatch) as server:
        yield server


class Installation:
    """A web server on a port that stays, and a runner; both can be killed and come again."""

    def __init__(self, session: Session, stack: ExitStack) -> None:
        self.session = session
        self.token = caller_for(session.workspace.tenant).token
        self.seen: list[JSON] = []
        self._stack, self._port = stack, free_port()
        self.start_runner()
        self.start_web()

    def start_web(self) -> None:
        self.url, self.web = self._stack.enter_context(web_process(port=self._port))

    def start_runner(self) -> None:
        self.runner: Process = self._stack.enter_context(runner_process())

    def restart(self, how: signal.Signals) -> None:
        """Both at once, as when the machine goes down, or is told to."""
        for process in (self.web, self.runner):
            process.send_signal(how)
        for process in (self.web, self.runner):
            process.wait(timeout=60)
        if how == signal.SIGKILL:
            let_leases_run_out(self.session.workspace)
        self.start_runner()
        self.start_web()

    def ask(self, path: str, body: JSON) -> JSON:
        base = f"{self.url}/api/v1/workspaces/{self.session.workspace.slug}/{path}"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(base, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: JSON = json.loads(answer.read())
            return found

    def say(self, content: str) -> str:
        return str(self.ask(f"sessions/{self.session.id}/runs", {"content": content})["run_id"])

    def follow_until(self, is_last: Callable[[JSON], bool]) -> JSON:
        """On a connection of its own, from the last number on: what it closes with is thrown away."""
        last = self.seen[-1]["seq"] if self.seen else 0
        with follow(self.url, self.session, Last_Event_ID=str(last)) as stream:
            stream.socket.settimeout(240)
            for event in stream.events():
                self.seen.append(event)
                if is_last(event):
                    return event
        raise AssertionError("the stream ended")

    def until(self, type: str) -> JSON:
        return self.follow_until(lambda event: event["type"] == type)

    def until_text(self, text: str) -> JSON:
        return self.follow_until(lambda event: text in str(event["payload"].get("text", "")))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_whole_flow_runs_through_restarts_of_the_server_and_the_runner(
    workspace: Workspace, model: OpenAIServer, how: signal.Signals
) -> None:
    gate, never = Event(), Event()
    model.script(
        streams(*words("I look "), never, *ending()),  # lost with its runner, or handed back
        streams(*words("I look "), gate, *words("again."), *ending()),
        calls(("memory_write", SAVE), text="I note it down."),
        says("Noted."),
        streams(*words("This takes "), never, *ending()),
        says("Once more."),
    )
    session = open_session(workspace)
    with ExitStack() as stack:
        here = Installation(session, stack)
        here.say("Where does the gateway listen?")
        here.until_text("I look")
        here.restart(how)
        here.until_text("I look")
        gate.set()
        here.until("run.completed")

        here.say("Note it down.")
        asked = here.until("tool.approval_required")["payload"]
        here.restart(how)
        decisions = [
            {"tool_call_id": call["tool_call_id"], "status": "approved"}
            for call in asked["tool_calls"]
        ]
        here.ask(f"approvals/{asked['approval_id']}:decide", {"decisions": decisions})
        here.until("run.completed")

        slow = here.say("Take your time.")
        here.until_text("This takes")
        here.ask(f"runs/{slow}:cancel", {})
        here.until("run.cancelled")
        here.restart(how)
        here.ask(f"runs/{slow}:retry", {})
        here.until("run.completed")
    assert [event["seq"] for event in here.seen] == list(range(1, len(here.seen) + 1))
    saved = [event for event in here.seen if event["type"] == "tool.result"]
    assert len(saved) == 1
    said = [m.content for m in messages_of(session) if m.role == "assistant" and not m.is_partial]
    assert said == ["I look again.", "I note it down.", "Noted.", "Once more."]
    assert_clean(workspace)

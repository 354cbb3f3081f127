"""`Memory`: one workspace's memory over the REST API."""

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, Unpack

import httpx2

from holamem.client import operations
from holamem.client.answers import Browsed, ReceivedBatch, Remembered, Retrieved
from holamem.client.chats.plan import ChatOptions, plan_import
from holamem.client.chats.sending import ImportReport, Progress, send_chats
from holamem.client.connection import (
    FAILURES,
    Connection,
    final_error,
    pause_before_retry,
    reply_of,
    request_options,
    workspace_of,
)
from holamem.client.errors import InvalidRequest
from holamem.client.operations import EventDetails, Filters, Operation, Place

Answer = TypeVar("Answer")
USER_MESSAGE = "user_message"


class Memory:
    """Thread-safe. `connection` says where to and as whom; `transport` is for tests.

        with Memory() as memory:
            memory.remember("Mara owns the Atlas gateway.", wait=True)
            print(memory.retrieve("Who owns the Atlas gateway?").prompt)

    Every call raises a subclass of `ClientError`, and nothing else, when it fails.
    """

    def __init__(
        self,
        connection: Connection | None = None,
        *,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.connection = connection or Connection()
        self._workspace = self.connection.workspace
        self._sleep = sleep
        self._http = httpx2.Client(**self.connection.options(), transport=transport)

    def remember(
        self,
        text: str,
        *,
        kind: str = USER_MESSAGE,
        wait: bool = False,
        timeout_s: int = 30,
        dry_run: bool = False,
        **details: Unpack[EventDetails],
    ) -> Remembered:
        """Send one event. With `wait` the answer has what became of it, or status `processing`."""
        return self.run(
            operations.remember(
                text,
                kind=kind,
                details=details,
                wait_seconds=timeout_s if wait else None,
                dry_run=dry_run,
            )
        )

    def retrieve(self, question: str, **filters: Unpack[Filters]) -> Retrieved:
        return self.run(operations.retrieve(question, filters=filters))

    def browse(self, **place: Unpack[Place]) -> Browsed:
        return self.run(operations.browse(place))

    def import_chats(
        self,
        path: str | Path,
        options: ChatOptions | None = None,
        *,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Send an exported chat history, oldest first; `preview_chats` says first what that is.

        After a break the same call goes on: what arrived before is known by its id and stored
        once. Raises NoMessages and UnreadableChats before anything is sent.
        """
        plan = plan_import(Path(path), options=options or ChatOptions())
        steps = send_chats(plan, progress=progress)
        outcome: ReceivedBatch | InvalidRequest | None = None
        while True:
            try:
                outcome = self._outcome(steps.send(outcome))
            except StopIteration as end:
                report: ImportReport = end.value
                return report

    def run(self, operation: Operation[Answer]) -> Answer:
        """One call with its retries."""
        attempt = 1
        while True:
            try:
                return operation.parse(reply_of(self._http.request(**self._options(operation))))
            except FAILURES as error:
                pause = pause_before_retry(error, attempt=attempt)
                if pause is None or attempt >= self.connection.attempts:
                    raise final_error(error) from error
            self._sleep(pause)
            attempt += 1

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({self.connection!r})"

    def _outcome(self, operation: Operation[ReceivedBatch]) -> ReceivedBatch | InvalidRequest:
        """A refusal is an outcome too: it may be about one message of many."""
        try:
            return self.run(operation)
        except InvalidRequest as refused:
            return refused

    def _options(self, operation: Operation[Any]) -> dict[str, Any]:
        workspace = self._bound_workspace() if operation.in_workspace else ""
        return request_options(operation, workspace=workspace, timeout=self.connection.timeout)

    def _bound_workspace(self) -> str:
        """The one that was named, else the one that the key is bound to, asked for once."""
        if not self._workspace:
            self._workspace = workspace_of(self.run(operations.me()))
        return self._workspace

"""`AsyncMemory`: what `Memory` does, for asynchronous callers."""

import asyncio
from collections.abc import Awaitable, Callable
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
from holamem.client.memory import USER_MESSAGE
from holamem.client.operations import EventDetails, Filters, Operation, Place

Answer = TypeVar("Answer")


class AsyncMemory:
    """See `Memory`. Files are read in a thread, so that the event loop goes on."""

    def __init__(
        self,
        connection: Connection | None = None,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.connection = connection or Connection()
        self._workspace = self.connection.workspace
        self._sleep = sleep
        self._http = httpx2.AsyncClient(**self.connection.options(), transport=transport)

    async def remember(
        self,
        text: str,
        *,
        kind: str = USER_MESSAGE,
        wait: bool = False,
        timeout_s: int = 30,
        dry_run: bool = False,
        **details: Unpack[EventDetails],
    ) -> Remembered:
        return await self.run(
            operations.remember(
                text,
                kind=kind,
                details=details,
                wait_seconds=timeout_s if wait else None,
                dry_run=dry_run,
            )
        )

    async def retrieve(self, question: str, **filters: Unpack[Filters]) -> Retrieved:
        return await self.run(operations.retrieve(question, filters=filters))

    async def browse(self, **place: Unpack[Place]) -> Browsed:
        return await self.run(operations.browse(place))

    async def import_chats(
        self,
        path: str | Path,
        options: ChatOptions | None = None,
        *,
        progress: Progress | None = None,
    ) -> ImportReport:
        chosen = options or ChatOptions()
        plan = await asyncio.to_thread(plan_import, Path(path), options=chosen)
        steps = send_chats(plan, progress=progress)
        outcome: ReceivedBatch | InvalidRequest | None = None
        while True:
            try:
                operation = steps.send(outcome)
            except StopIteration as end:
                report: ImportReport = end.value
                return report
            outcome = await self._outcome(operation)

    async def run(self, operation: Operation[Answer]) -> Answer:
        attempt = 1
        while True:
            try:
                options = await self._options(operation)
                return operation.parse(reply_of(await self._http.request(**options)))
            except FAILURES as error:
                pause = pause_before_retry(error, attempt=attempt)
                if pause is None or attempt >= self.connection.attempts:
                    raise final_error(error) from error
            await self._sleep(pause)
            attempt += 1

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncMemory":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncMemory({self.connection!r})"

    async def _outcome(self, operation: Operation[ReceivedBatch]) -> ReceivedBatch | InvalidRequest:
        try:
            return await self.run(operation)
        except InvalidRequest as refused:
            return refused

    async def _options(self, operation: Operation[Any]) -> dict[str, Any]:
        workspace = ""
        if operation.in_workspace:
            if not self._workspace:
                self._workspace = workspace_of(await self.run(operations.me()))
            workspace = self._workspace
        return request_options(operation, workspace=workspace, timeout=self.connection.timeout)

"""Sending a planned import in batches; who sends, and how, is the caller's business."""

import hashlib
import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from holamem.client.answers import ReceivedBatch
from holamem.client.chats.plan import Event, ImportPlan
from holamem.client.errors import InvalidRequest
from holamem.client.operations import Operation, remember_batch

BATCH_EVENTS = 200  # the server takes 500; smaller ones show progress and lose less to a break
BATCH_BYTES = 4_000_000  # the server takes 8 MB
PLACE = re.compile(r"events\[(\d+)\]")

Progress = Callable[[int, int], None]  # events that arrived, and all of them
Outcome = ReceivedBatch | InvalidRequest | None


@dataclass(frozen=True, slots=True)
class RefusedMessage:
    external_id: str
    message: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """`events` arrived, now or in an earlier run; `refused` are those that the server did not take.

    They are judged in the background: what became of each shows in the list of events.
    """

    events: int
    conversations: int
    refused: tuple[RefusedMessage, ...]


def send_chats(
    plan: ImportPlan, *, progress: Progress | None
) -> Generator[Operation[ReceivedBatch], Outcome, ImportReport]:
    """Yields what is to be sent and takes the outcome; returns the report.

    Raises the InvalidRequest of a batch that is not about single events of it.
    """
    arrived, refused = 0, list[RefusedMessage]()
    for batch in _batches(plan.events):
        left = list(batch)
        while left:
            outcome = yield remember_batch(left, idempotency_key=_key(left))
            if isinstance(outcome, InvalidRequest):
                bad = _refused_places(outcome, count=len(left))
                refused += [RefusedMessage(left[i]["external_id"], bad[i]) for i in sorted(bad)]
                left = [event for place, event in enumerate(left) if place not in bad]
                continue
            arrived += len(left)
            break
        if progress is not None:
            progress(arrived, len(plan.events))
    return ImportReport(arrived, plan.preview.conversations, tuple(refused))


def _batches(events: Sequence[Event]) -> Iterator[list[Event]]:
    batch: list[Event] = []
    size = 0
    for event in events:
        length = len(json.dumps(event, ensure_ascii=False).encode())
        if batch and (len(batch) == BATCH_EVENTS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += length
    if batch:
        yield batch


def _key(batch: Sequence[Event]) -> str:
    """The same batch has the same key: after a break the server answers it at once."""
    return hashlib.sha256(json.dumps(batch, sort_keys=True).encode()).hexdigest()


def _refused_places(refused: InvalidRequest, *, count: int) -> dict[int, str]:
    """Place in the batch to the server's words. Raises the refusal when it names none."""
    places = {
        int(match[1]): f"{error.field}: {error.message}"
        for error in refused.errors
        if (match := PLACE.match(error.field)) is not None and int(match[1]) < count
    }
    if not places:
        raise refused
    return places

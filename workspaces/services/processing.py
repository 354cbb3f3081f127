"""The write path for events: each to its chunks, each chunk to a leaf or to a reason why not.

Where a judgement takes no call, the chunks of several events are planned and committed together;
whatever goes wrong with that, each of them is taken alone.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from holamem import faults
from holamem.database.scope import workspace_scope
from workspaces.models.log import Category, Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.ahead import Ahead, is_offline
from workspaces.services.chunk_steps import process_chunk
from workspaces.services.chunks import ensure_chunks
from workspaces.services.jobs import (
    ClaimedJob,
    LeaseLost,
    TurnOver,
    add_job,
    held_leases,
    require_lease,
)
from workspaces.services.model_calls import judge_of
from workspaces.services.quotas import room_for_events
from workspaces.services.settling import settle_revision
from workspaces.services.together import settle_first

logger = logging.getLogger(__name__)

PASS_SECONDS = 60  # far below the queue's limit for one task
MOST_TOGETHER = 32  # chunks; bounds what is planned in vain when one of them needs the others


@dataclass(frozen=True, slots=True)
class _Taken:
    """An event in work, under the lease of its job, with its pending chunks."""

    job: ClaimedJob
    event: Event
    chunks: Sequence[Chunk]


@dataclass(slots=True)
class _Pass:
    """What became of the events; those that are in neither go on later."""

    deadline: float
    done: list[_Taken] = field(default_factory=list)
    errors: dict[UUID, Exception] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.deadline


def process_event(workspace: Workspace, job: ClaimedJob) -> None:
    """Handler of `event.received`. Taken up again after a crash, it goes on where it stopped."""
    for error in process_events(workspace, [job]).values():
        raise error


def process_events(workspace: Workspace, jobs: Sequence[ClaimedJob]) -> dict[UUID, Exception]:
    """The same for several of one scope; errors by job.

    Each chunk finds what the chunks before it have left, as if the events came one by one.
    Those for which the tenant has no room are not taken up.
    """
    room, refusal = room_for_events(workspace, wanted=len(jobs))
    turn = _Pass(time.monotonic() + PASS_SECONDS)
    if refusal is not None:
        turn.errors = {job.id: refusal for job in jobs[room:]}
    works = _take_up(workspace, jobs=jobs[:room]) if room else []
    waiting = [(work.event, chunk) for work in works for chunk in work.chunks]
    judge = judge_of(workspace, scope_id=jobs[0].scope_id)
    ahead = Ahead(workspace, judge=judge, waiting=waiting)
    for are_together, group in _groups(works, offline=is_offline(judge)):
        if are_together:
            _process_together(workspace, works=group, ahead=ahead, turn=turn)
        else:
            for work in group:
                _process_alone(workspace, work=work, ahead=ahead, turn=turn)
    return turn.errors | _mark_processed(workspace, works=turn.done)


def _groups(works: Sequence[_Taken], *, offline: bool) -> Iterator[tuple[bool, list[_Taken]]]:
    """Neighbours that may be planned together, and the others, in their order.

    A revision at a source is settled before the next one is looked at.
    """
    for are_together, group in groupby(
        works, lambda work: offline and work.event.category == Category.INTERACTION
    ):
        yield are_together, list(group)


def _take_up(workspace: Workspace, *, jobs: Sequence[ClaimedJob]) -> list[_Taken]:
    """The events that are not processed yet, in the order of their jobs, which have one scope."""
    wanted = [job.target_id for job in jobs]
    with workspace_scope(workspace, [jobs[0].scope_id]):
        rows = workspace.events.filter(id__in=wanted).exclude(status=Event.Status.PROCESSED)
        events = {event.id: event for event in rows}
        workspace.events.filter(id__in=list(events)).update(
            status=Event.Status.PROCESSING, attempts=max(job.attempts for job in jobs)
        )
    pending = ensure_chunks(workspace, events=list(events.values()))
    return [
        _Taken(job, events[job.target_id], pending[job.target_id])
        for job in jobs
        if job.target_id in events
    ]


def _process_alone(workspace: Workspace, *, work: _Taken, ahead: Ahead, turn: _Pass) -> None:
    try:
        if turn.done and turn.is_over:
            raise TurnOver
        faults.point("event.taken_up")
        for number, chunk in enumerate(work.chunks, 1):
            process_chunk(workspace, job=work.job, event=work.event, chunk=chunk, ahead=ahead)
            if number < len(work.chunks) and turn.is_over:
                _go_on_later(workspace, job=work.job)
                return
        if work.event.category == Category.INTEGRATION:
            settle_revision(workspace, job=work.job, event=work.event)
        faults.point("event.before_processed")
        turn.done.append(work)
    except Exception as error:  # noqa: BLE001 - it is this job's, and stops no other
        turn.errors[work.job.id] = error


@dataclass(slots=True)
class _Queue:
    """Chunks of several events, the next one first, and how many to take at once."""

    left: list[tuple[_Taken, Chunk]]
    size: int = MOST_TOGETHER
    begun: set[UUID] = field(default_factory=set)

    def next(self) -> list[tuple[ClaimedJob, Event, Chunk]]:
        return [(work.job, work.event, chunk) for work, chunk in self.left[: self.size]]

    def drop(self, count: int) -> None:
        del self.left[:count]

    def drop_job(self, job_id: UUID) -> None:
        self.left = [item for item in self.left if item[0].job.id != job_id]

    def begin(self, turn: _Pass) -> None:
        for work in {work.job.id: work for work, _ in self.left[: self.size]}.values():
            if work.job.id not in self.begun:
                self.begun.add(work.job.id)
                try:
                    faults.point("event.taken_up")
                except Exception as error:  # noqa: BLE001 - it is this job's, and stops no other
                    turn.errors[work.job.id] = error
                    self.drop_job(work.job.id)


def _process_together(
    workspace: Workspace, *, works: Sequence[_Taken], ahead: Ahead, turn: _Pass
) -> None:
    queue = _Queue([(work, chunk) for work in works for chunk in work.chunks])
    while queue.left and not (queue.begun and turn.is_over):
        _settle_some(workspace, queue=queue, ahead=ahead, turn=turn)
    left = {work.job.id for work, _ in queue.left}
    for work in works:
        try:
            if work.job.id not in left and work.job.id not in turn.errors:
                faults.point("event.before_processed")
                turn.done.append(work)
            elif work.job.id in left and work.job.id in queue.begun:
                _go_on_later(workspace, job=work.job)
            elif work.job.id in left:
                raise TurnOver
        except Exception as error:  # noqa: BLE001 - it is this job's, and stops no other
            turn.errors[work.job.id] = error


def _settle_some(workspace: Workspace, *, queue: _Queue, ahead: Ahead, turn: _Pass) -> None:
    """As many of the first as can be taken together, and the one that stopped them alone."""
    queue.begin(turn)
    items = queue.next()
    if not items:
        return
    settled = settle_first(workspace, items=items, ahead=ahead) if len(items) > 1 else 0
    is_whole = settled == len(items)
    queue.size = min(MOST_TOGETHER, 2 * queue.size) if settled else max(1, queue.size // 2)
    for _, _, chunk in items[:settled]:
        ahead.forget(chunk)
    queue.drop(settled)
    if is_whole:
        return
    work, chunk = queue.left[0]
    try:
        process_chunk(workspace, job=work.job, event=work.event, chunk=chunk, ahead=ahead)
        ahead.forget(chunk)
        queue.drop(1)
    except Exception as error:  # noqa: BLE001 - it is this job's, and stops no other
        turn.errors[work.job.id] = error
        queue.drop_job(work.job.id)


def _go_on_later(workspace: Workspace, *, job: ClaimedJob) -> None:
    """A long text gives other jobs a turn, and the queue kills no worker that makes progress."""
    with workspace_scope(workspace, [job.scope_id]):
        require_lease(job)
        add_job(
            workspace, topic=job.topic, target_id=job.target_id, scope_id=job.scope_id, priority=60
        )


def _mark_processed(workspace: Workspace, *, works: Sequence[_Taken]) -> dict[UUID, Exception]:
    """In one step; LeaseLost for the jobs that another worker holds now."""
    if not works:
        return {}
    with workspace_scope(workspace, [works[0].event.scope_id]):
        held = held_leases([work.job for work in works])
        ids = [work.event.id for work in works if work.job.id in held]
        workspace.events.filter(id__in=ids).update(status=Event.Status.PROCESSED, error="")
    return {work.job.id: LeaseLost() for work in works if work.job.id not in held}

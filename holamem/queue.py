"""The only importer of django-q2: it carries wake-ups, never work.

A wake-up that gets lost costs time, not work: the sweeper finds what is due in the job ledger.
"""

import logging
import threading
import time
from functools import cache
from queue import SimpleQueue
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django_q.models import Schedule
from django_q.tasks import async_task

from holamem.clock import now
from holamem.environment import get_environment

logger = logging.getLogger(__name__)

WORK_TASK = "workspaces.tasks.work"
SWEEP_TASK = "workspaces.tasks.sweep"
# The answer is still being written when the commit is done, in a process that has one core.
ANSWER_FIRST_SECONDS = 0.02


def wake_on_commit(job_id: UUID) -> None:
    """Wake a worker for this job once the surrounding transaction has committed."""

    # A plain function: with robust=True Django logs `__qualname__`, which a partial lacks.
    def send() -> None:
        if get_environment().process == "web":
            _sender().put(job_id)  # the caller need not wait for the broker's row
        else:
            send_wake_up(job_id)

    transaction.on_commit(send, robust=True)


@cache
def _sender() -> "SimpleQueue[UUID]":
    """What the sending thread of this process still has to send."""
    waiting: SimpleQueue[UUID] = SimpleQueue()
    threading.Thread(target=_send_all, args=(waiting,), name="wake-ups", daemon=True).start()
    return waiting


def _send_all(waiting: "SimpleQueue[UUID]") -> None:
    """One wake-up for each worker is enough: whoever is awake goes on while work is due."""
    while True:
        jobs = [waiting.get()]
        time.sleep(ANSWER_FIRST_SECONDS)
        while not waiting.empty():
            jobs.append(waiting.get())
        for job_id in jobs[: get_environment().workers]:
            _send(job_id)


def _send(job_id: UUID) -> None:
    try:
        connection.close_if_unusable_or_obsolete()
        send_wake_up(job_id)
    except DatabaseError:
        logger.warning("wake_up.not_sent", extra={"job_id": str(job_id)})


def send_wake_up(job_id: UUID) -> None:
    """Write the broker's row without waiting for the disk: losing it is harmless by design."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = off")
        async_task(WORK_TASK, str(job_id))


def ensure_sweep_schedule() -> None:
    """The sweeper runs every minute; two entries would only sweep twice."""
    Schedule.objects.update_or_create(
        name="sweep",
        defaults={
            "func": SWEEP_TASK,
            "schedule_type": Schedule.MINUTES,
            "minutes": 1,
            "repeats": -1,
        },
    )


def seconds_since_sweep_was_due() -> float | None:
    """How late the next sweep is: about 0 while a worker runs, None before the first one ran."""
    schedule = Schedule.objects.filter(name="sweep").first()
    if schedule is None or schedule.next_run is None or not schedule.task:
        return None
    late: float = (now() - schedule.next_run).total_seconds()
    return max(0.0, late)

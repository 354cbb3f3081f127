"""What nobody else would notice, of all workspaces: approvals that expired, runs without feeding.

Lost leases and queued runs of idle sessions need no sweep: every claim looks for them.
"""

import logging
import time
from datetime import timedelta

from django.db import Error as DatabaseFailure
from django.db.models.functions import Now

from agents.distill.schedule import LOOK_SECONDS, distill_when_full, start_nights
from agents.models.runs import ENDED_RUN, Run
from agents.services.expiry import expire_approvals
from agents.services.feeding import FED_AT_ONCE, feed_run
from holamem.clock import now
from holamem.database.scope import system_scope

logger = logging.getLogger(__name__)

# Its own thread feeds a run right after its end, and needs no rival.
UNFED_SECONDS = 5


def sweep() -> int:
    """How many things were done."""
    done = expire_approvals(now())
    for run in unfed_runs():
        done += _feed(run)
    return done + _begin_nights()


def _feed(run: Run) -> bool:
    """One run's trouble must not keep the others from their memory."""
    try:
        feed_run(run.workspace, run=run)
        distill_when_full(run.workspace, run=run)
    except DatabaseFailure:
        raise
    except Exception:
        logger.exception("run.not_fed", extra={"run": str(run.id)})
        return False
    return True


_looked_at = -LOOK_SECONDS


def _begin_nights() -> int:
    """All workspaces are looked through, so less often than the rest."""
    global _looked_at
    if time.monotonic() < _looked_at + LOOK_SECONDS:
        return 0
    _looked_at = time.monotonic()
    return start_nights(now())


def unfed_runs(*, older_than_seconds: float = UNFED_SECONDS, limit: int = FED_AT_ONCE) -> list[Run]:
    """Of all workspaces, those that ended first first."""
    with system_scope():
        rows = Run.objects.filter(
            status__in=ENDED_RUN,
            fed_at=None,
            ended_at__lt=Now() - timedelta(seconds=older_than_seconds),
        )
        return list(rows.select_related("workspace__tenant").order_by("ended_at")[:limit])

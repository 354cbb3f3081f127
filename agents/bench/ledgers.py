"""What a memory of some size has beside its leaves: jobs, questions, gaps, sessions and changes."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from agents.models.conversations import Session
from agents.services.agents import default_agent
from holamem.clock import now
from holamem.ids import new_id
from retrieval.bench.copying import Table, open_tables
from retrieval.models import Gap, RetrievalLog
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Audit, Workspace

# One of each for so many leaves.
LEAVES_PER_QUESTION = 2
LEAVES_PER_GAP = 20
LEAVES_PER_SESSION = 20
LEAVES_PER_CHANGE = 20
LEAVES_PER_PARKED_JOB = 500
DAYS = 90  # over which all of it is spread, up to today
_LEVELS = ("high", "medium", "low", "none")


def fill_ledgers(workspace: Workspace, *, leaves: int) -> None:
    """The same rows on every call with the same number, but for ids and moments."""
    own: dict[str, Any] = {"workspace": workspace, "scope_id": workspace.pk}
    tables = {
        "job": Table(Job, **own, topic=Job.Topic.EVENT_RECEIVED, next_try_at=now()),
        "gap": Table(Gap, **own, kind="missing", reason="Memory holds nothing about this."),
        "question": Table(RetrievalLog, **own, intent="fact"),
        "change": Table(Audit, **own, tenant=workspace.tenant, actor="user:1"),
        "session": Table(Session, **own, agent=default_agent(workspace)),
    }
    rows = {
        "job": _jobs(leaves),
        "gap": _gaps(leaves // LEAVES_PER_GAP),
        "question": _questions(leaves // LEAVES_PER_QUESTION),
        "change": _changes(leaves // LEAVES_PER_CHANGE),
        "session": _sessions(leaves // LEAVES_PER_SESSION),
    }
    with open_tables(tables.values()):
        for name, table in tables.items():
            table.write(rows[name])


def _moments(count: int) -> Iterator[datetime]:
    """From the oldest to now, evenly."""
    start, step = now() - timedelta(days=DAYS), timedelta(days=DAYS) / max(count, 1)
    return (start + number * step for number in range(count))


def _jobs(count: int) -> Iterator[dict[str, Any]]:
    for number, moment in enumerate(_moments(count)):
        is_parked = number % LEAVES_PER_PARKED_JOB == 0
        yield {
            "id": new_id(),
            "target_id": new_id(),
            "state": Job.State.PARKED if is_parked else Job.State.DONE,
            "error": "The model did not answer." if is_parked else "",
            "attempts": 3 if is_parked else 1,
            "created_at": moment,
            "done_at": None if is_parked else moment + timedelta(seconds=1 + number % 40),
        }


def _gaps(count: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(2)  # noqa: S311 - nothing secret
    for number, moment in enumerate(_moments(count)):
        is_closed = number % 3 == 0
        yield {
            "id": new_id(),
            "question": f"Which port does gateway {number} use?",
            "question_key": sha256(f"{number}".encode()).hexdigest(),
            "times_asked": chance.randrange(1, 50),
            "first_asked_at": moment,
            "last_asked_at": moment,
            "status": Gap.Status.DISMISSED if is_closed else Gap.Status.OPEN,
            "closed_at": moment + timedelta(hours=5) if is_closed else None,
        }


def _questions(count: int) -> Iterator[dict[str, Any]]:
    for number, moment in enumerate(_moments(count)):
        yield {
            "id": new_id(),
            "query": f"Which port does gateway {number} use?",
            "coverage_level": _LEVELS[number % len(_LEVELS)],
            "coverage_score": 0.9 - 0.25 * (number % len(_LEVELS)),
            "created_at": moment,
        }


def _changes(count: int) -> Iterator[dict[str, Any]]:
    for number, moment in enumerate(_moments(count)):
        action = ("leaf.forget", "leaf.correct", "entity.rename")[number % 3]
        yield {"id": new_id(), "action": action, "target": str(new_id()), "at": moment}


def _sessions(count: int) -> Iterator[dict[str, Any]]:
    for number, moment in enumerate(_moments(count)):
        yield {
            "id": new_id(),
            "title": f"Talk {number}",
            "created_at": moment,
            "updated_at": moment,
        }

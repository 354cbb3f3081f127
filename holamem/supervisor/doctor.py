"""What an installation has, what it reaches and what it lacks; never a secret."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db import DatabaseError, connection
from psycopg.conninfo import conninfo_to_dict
from pydantic import BaseModel, SecretStr

from agents.services.status import oldest_due_run_seconds
from holamem.database.roles import lexical_match_is_leakproof, missing_statements
from holamem.database.schema import schema_fault
from holamem.environment import DEVELOPMENT_SECRET_KEY, Environment, get_environment
from holamem.errors import HolamemError
from holamem.providers.registry import chat_model, embedder
from holamem.queue import seconds_since_sweep_was_due
from workspaces.api.health import (
    body_store_is_writable,
    embedding_model_loads,
    migrations_are_applied,
)
from workspaces.index.embedding import current_model
from workspaces.services.status import oldest_due_seconds, waits_for_storage

CHAT_SECONDS = 20
SWEEP_LATE_SECONDS = 180  # three periods
WORK_LATE_SECONDS = 900
RUN_LATE_SECONDS = 60  # twice the lease of a run


class State(StrEnum):
    """A warning costs something; a failure means that a part does not work."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    name: str
    state: State
    detail: str


@dataclass(frozen=True, slots=True)
class Setting:
    """`value` is what is in force; secrets are `set` or `not set`."""

    name: str
    value: str


class Pong(BaseModel):
    answer: str


def settings_in_force() -> list[Setting]:
    environment = get_environment()
    return [
        Setting(_variable(name), _shown(environment, name)) for name in Environment.model_fields
    ]


def _variable(name: str) -> str:
    alias = Environment.model_fields[name].validation_alias
    return alias if isinstance(alias, str) else f"HOLAMEM_{name.upper()}"


def _shown(environment: Environment, name: str) -> str:
    value = getattr(environment, name)
    if name == "database_url":
        return _without_password(value)
    if isinstance(value, SecretStr):
        is_set = value.get_secret_value() not in ("", DEVELOPMENT_SECRET_KEY)
        return "set" if is_set else "not set"
    return "not set" if value in (None, "") else str(value)


def _without_password(url: str) -> str:
    if not url:
        return "not set"
    parts = conninfo_to_dict(url)
    return f"{parts.get('user', '')}@{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"


def diagnose() -> list[Diagnosis]:
    """Every probe, in an order in which the first failure explains those after it."""
    return [_probe(name, probe) for name, probe in PROBES]


def exit_code(found: Sequence[Diagnosis]) -> int:
    states = {diagnosis.state for diagnosis in found}
    if State.FAILED in states:
        return 2
    return 1 if State.WARNING in states else 0


Probe = Callable[[], tuple[State, str]]


def _probe(name: str, probe: Probe) -> Diagnosis:
    try:
        state, detail = probe()
    except (DatabaseError, HolamemError, OSError) as error:
        # An error of the driver may quote its connection string, so only our own words are shown.
        words = error.message if isinstance(error, HolamemError) else type(error).__name__
        state, detail = State.FAILED, words
    return Diagnosis(name, state, detail)


def _database() -> tuple[State, str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version'),"
            " (SELECT extversion FROM pg_extension WHERE extname = 'vector')"
        )
        version, vector = cursor.fetchone()
    if vector is None:
        return State.FAILED, f"PostgreSQL {version} without the extension pgvector"
    return State.OK, f"PostgreSQL {version}, pgvector {vector}"


def _roles() -> tuple[State, str]:
    missing = missing_statements(connection)
    if missing:
        return State.FAILED, "missing: " + "; ".join(missing)
    return State.OK, "the four roles are there and the login role may take them"


def _lexical_match() -> tuple[State, str]:
    if lexical_match_is_leakproof(connection):
        return State.OK, "text search uses its index under row-level security"
    return State.WARNING, "ts_match_vq is not LEAKPROOF: text search works, but slower"


def _migrations() -> tuple[State, str]:
    fault = schema_fault(connection)
    if fault:
        return State.FAILED, fault
    if migrations_are_applied():
        return State.OK, "all applied"
    return State.FAILED, "not all applied: run `manage.py migrate`"


def _body_store() -> tuple[State, str]:
    if not body_store_is_writable():
        return State.FAILED, "not writable, or the disk is full"
    if waits_for_storage():
        return State.FAILED, "the disk refused a file, and work waits for it"
    return State.OK, "writable, with room"


def _embedding() -> tuple[State, str]:
    client = embedder()
    embedding_model_loads()
    current_model()
    return State.OK, f"{client.model_name}, {client.dimension} dimensions, as stored"


def _chat() -> tuple[State, str]:
    model = chat_model()
    if model is None:
        return State.OK, "none configured: memory works by its offline rules"
    reply = model.complete_structured(
        system="Answer in JSON.",
        user='Set "answer" to "ready".',
        schema=Pong,
        purpose="doctor",
        deadline_seconds=CHAT_SECONDS,
    )
    return State.OK, f"{model.model_name} answers ({reply.rung})"


def _worker() -> tuple[State, str]:
    late, oldest = seconds_since_sweep_was_due(), oldest_due_seconds()
    if late is None:
        return State.WARNING, "no worker has run yet: start one with `manage.py up` or `qcluster`"
    if late > SWEEP_LATE_SECONDS:
        return State.WARNING, f"no worker runs: the last sweep is {late:.0f} s late"
    if oldest > WORK_LATE_SECONDS:
        return State.WARNING, f"work has been due for {oldest:.0f} s"
    return State.OK, "a worker sweeps every minute, and work does not wait"


def _runner() -> tuple[State, str]:
    oldest = oldest_due_run_seconds()
    if oldest > RUN_LATE_SECONDS:
        return State.WARNING, f"a run has waited for {oldest:.0f} s: start `manage.py runner`"
    return State.OK, "no run of an agent waits for a runner"


PROBES: tuple[tuple[str, Probe], ...] = (
    ("database", _database),
    ("roles", _roles),
    ("migrations", _migrations),
    ("lexical match", _lexical_match),
    ("body store", _body_store),
    ("embedding model", _embedding),
    ("chat model", _chat),
    ("worker", _worker),
    ("runner", _runner),
)

"""Structured log lines: one JSON object a line, with the request id, never with user text.

What an exception says of itself may be text of a memory: a database error quotes the row, a
validation error its input. So a traceback names types, places and codes; quoted is only what
speaks of the machine or of a service.
"""

import re
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from logging import Filter, LogRecord
from types import TracebackType
from typing import Any

from django.db import Error as DatabaseError
from psycopg import Error as PostgresError
from pythonjsonlogger.json import JsonFormatter

from holamem.errors import HolamemError, ProviderError, Unavailable

request_id: ContextVar[str] = ContextVar("request_id", default="")

MOST_CAUSES = 10
MESSAGE_CHARACTERS = 300
# Carried by Django's and asyncio's records: a request shows its query, a task its arguments.
_UNTOLD = ("request", "response", "sql", "params", "args_repr", "task_kwargs")
# What follows in an address lets somebody into a tenant, or is what a person is called.
_SECRET_PLACES = re.compile(r"(/invitation/|/users/)\S+")
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class RequestIdFilter(Filter):
    def filter(self, record: LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


class SilentFormatter(JsonFormatter):
    """Of exceptions only what cannot be user text; of Django's extras nothing that may hold it."""

    def format(self, record: LogRecord) -> str:
        for name in _UNTOLD:
            record.__dict__.pop(name, None)
        if record.name == "django.request":
            record.msg, record.args = _SECRET_PLACES.sub(r"\1…", record.getMessage()), ()
        record.exc_text = None  # another handler may have formatted it already, in full
        return super().format(record)

    def formatException(self, ei: _ExcInfo) -> str:
        return "" if ei[1] is None else shown_traceback(ei[1])


def shown_traceback(error: BaseException) -> str:
    """The chain of causes, the first one first, as Python prints it but without free text."""
    chain = reversed(list(_chain(error)))
    return "\n".join(
        "".join(traceback.format_tb(each.__traceback__)) + shown_error(each) for each in chain
    )


def shown_error(error: BaseException) -> str:
    """The type, and the message where it cannot hold what somebody told us."""
    kind = type(error)
    name = f"{kind.__module__}.{kind.__qualname__}"
    told = _told(error)
    return f"{name}: {told}" if told else name


def _told(error: BaseException) -> str:
    if isinstance(error, ProviderError | Unavailable):
        return f"{error.code}: {error.message}"[:MESSAGE_CHARACTERS]
    if isinstance(error, HolamemError):
        return error.code  # its message is for the caller, and may repeat the caller's words
    if isinstance(error, OSError) and error.errno is not None:
        return error.strerror or ""
    if isinstance(error, PostgresError):
        return _told_by_server(error)
    if isinstance(error, DatabaseError) and isinstance(error.__cause__, PostgresError):
        return _told_by_server(error.__cause__)
    return ""


def _told_by_server(error: PostgresError) -> str:
    """Codes and names of the schema. Without a code the client speaks, of the connection."""
    if error.sqlstate is None:
        return str(error)[:MESSAGE_CHARACTERS]
    diag = error.diag
    named = {"table": diag.table_name, "column": diag.column_name, "rule": diag.constraint_name}
    parts = [f"{label} {value}" for label, value in named.items() if value]
    return ", ".join([f"SQLSTATE {error.sqlstate}", *parts])


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, nearest first."""
    current: BaseException | None = error
    for _ in range(MOST_CAUSES):
        if current is None:
            return
        yield current
        implicit = None if current.__suppress_context__ else current.__context__
        current = current.__cause__ or implicit


def logging_config(level: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"request_id": {"()": RequestIdFilter}},
        "formatters": {
            "json": {
                "()": SilentFormatter,
                "format": "%(asctime)s %(levelname)s %(name)s %(message)s %(request_id)s",
            }
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "json",
                "filters": ["request_id"],
            }
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "httpx2": {"level": "WARNING"},
            "django-q": {"level": "WARNING"},
            "django.db.backends": {"level": "WARNING"},  # at DEBUG it tells statements and values
            "django.server": {"level": "WARNING"},
            "uvicorn.access": {"level": "WARNING"},
        },
    }

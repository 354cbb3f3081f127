"""Structured log lines: one JSON object a line, with the request id, never with user text."""

from contextvars import ContextVar
from logging import Filter, LogRecord
from typing import Any

request_id: ContextVar[str] = ContextVar("request_id", default="")


class RequestIdFilter(Filter):
    def filter(self, record: LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


def logging_config(level: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"request_id": {"()": RequestIdFilter}},
        "formatters": {
            "json": {
                "()": "pythonjsonlogger.json.JsonFormatter",
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
            "django.server": {"level": "WARNING"},
            "uvicorn.access": {"level": "WARNING"},
        },
    }

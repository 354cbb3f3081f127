"""Log lines tell what broke and where, and never what somebody said."""

import json
import logging
from collections.abc import Callable
from logging import LogRecord, makeLogRecord

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test import RequestFactory
from pydantic import BaseModel

from holamem.errors import InvalidInput, ProviderError
from holamem.logs import SilentFormatter
from workspaces import tasks
from workspaces.services import retention

WORDS = "Mara's blood pressure is 180 over 110"


def line_of(error: Exception, **values: object) -> str:
    """As it would be written; the error is raised, so that it has a traceback."""
    try:
        raise error
    except Exception as raised:  # noqa: BLE001 - any error has to be silent
        info = (type(raised), raised, raised.__traceback__)
    record: LogRecord = makeLogRecord({"msg": "job.crashed", "exc_info": info, **values})
    return SilentFormatter("%(message)s").format(record)


def caught(work: Callable[[], object]) -> Exception:
    try:
        work()
    except (DatabaseError, KeyError, ValueError, OSError) as error:
        return error
    raise AssertionError("nothing was raised")


def refused_row() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE said (words text UNIQUE) ON COMMIT DROP")
        cursor.execute("INSERT INTO said VALUES (%s), (%s)", [WORDS, WORDS])


def refused_value() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT %s::uuid", [WORDS])


class _Answer(BaseModel):
    confidence: float


@pytest.mark.parametrize(
    "work",
    [
        refused_row,
        refused_value,
        lambda: _Answer.model_validate({"confidence": WORDS}),
        lambda: {}[WORDS],
        lambda: int(WORDS),
        lambda: f"{WORDS}\ud800".encode(),
    ],
)
def test_no_error_quotes_what_it_broke_on(work: Callable[[], object]) -> None:
    error = caught(work)
    assert WORDS in str(error) or WORDS in repr(error.args) or "input_value" in str(error)
    line = line_of(error)
    assert WORDS not in line
    assert "pressure" not in line
    assert type(error).__name__ in line
    assert "test_logs.py" in line


def test_a_cause_is_silent_too_and_named() -> None:
    outer = RuntimeError(WORDS)
    outer.__cause__ = caught(refused_row)
    line = line_of(outer)
    assert WORDS not in line
    assert "UniqueViolation" in line
    assert "RuntimeError" in line


def test_the_code_and_the_rule_of_a_database_error_are_told() -> None:
    line = json.loads(line_of(caught(refused_row)))["exc_info"]
    assert "SQLSTATE 23505, table said, rule said_words_key" in line


def test_a_service_and_the_machine_speak_for_themselves() -> None:
    assert "The model is out." in line_of(ProviderError("The model is out."))
    assert "No such file" in line_of(caught(lambda: open("/nowhere/at/all")))  # noqa: SIM115
    assert WORDS not in line_of(InvalidInput(f"This is not usable: {WORDS}"))


def test_the_query_of_a_request_is_not_logged() -> None:
    request = RequestFactory().get("/w/acme/main/ask/", {"q": WORDS})
    line = line_of(ValueError("x"), request=request, status_code=404)
    assert "pressure" not in line
    assert json.loads(line)["status_code"] == 404


@pytest.mark.parametrize(
    "path", ["/invitation/dG9rZW4/", "/api/v1/workspaces/notes/users/ana@example.org/export"]
)
def test_an_address_that_is_a_secret_or_names_a_person_is_not_logged(path: str) -> None:
    record = makeLogRecord({"name": "django.request", "msg": "%s: %s", "args": ("Bad", path)})
    line = SilentFormatter("%(message)s").format(record)
    assert "dG9rZW4" not in line
    assert "ana@" not in line
    assert "Bad: /" in line


def test_the_queue_is_told_the_type_of_an_error_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> int:
        raise IntegrityError(WORDS)

    monkeypatch.setattr(retention, "remove_old_texts", broken)
    with caplog.at_level(logging.ERROR), pytest.raises(tasks.TaskFailed) as told:
        tasks.sweep()
    assert str(told.value) == "IntegrityError"
    assert told.value.__suppress_context__
    assert [record.message for record in caplog.records] == ["task.failed"]

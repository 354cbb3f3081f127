"""Liveness and readiness."""

from typing import Any

import pytest
from django.test import Client

from holamem.errors import ProviderError
from workspaces.api import health


def test_a_running_process_is_live() -> None:
    response = Client().get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "live"})


def test_readiness_names_each_check() -> None:
    body = Client().get("/readyz").json()
    assert set(body["checks"]) == {
        "database",
        "migrations",
        "body_store",
        "queue_age",
        "embedding_model",
    }
    assert body["checks"]["database"] == body["checks"]["migrations"] == "ok"
    assert body["checks"]["body_store"] == body["checks"]["embedding_model"] == "ok"


@pytest.mark.parametrize("name", list(health.CHECKS))
def test_one_failed_check_makes_it_unready_without_telling_why(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> bool:
        raise ProviderError("password of the model service")

    monkeypatch.setitem(health.CHECKS, name, fails)
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"][name] == "failed"
    assert b"password" not in response.content


def test_work_that_waits_too_long_makes_it_unready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "oldest_due_seconds", lambda: 901.0)
    assert Client().get("/readyz").json()["checks"]["queue_age"] == "failed"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_only_read(path: str) -> None:
    response: Any = Client().post(path)
    assert response.status_code == 405

"""A service that fails is let alone, by workspace and provider, and then tried by one call."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import pytest
from django.db import connection

from holamem.database.scope import system_scope
from holamem.errors import MalformedReply, ProviderError
from holamem.providers import registry
from tests.openai_server import failure
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, remember, results_of, unfinished_jobs
from tests.workspaces.model_memory import PORT, make_due
from tests.workspaces.scripted_model import ScriptedModel, create
from workspaces.models.tenancy import Workspace
from workspaces.services.circuits import CircuitOpen, check_circuit, circuits_of
from workspaces.services.model_calls import model_call
from workspaces.services.tenants import create_workspace

OUT = ProviderError("out", retryable=True, detail={"kind": "connection"})


def call(workspace: Workspace, error: Exception | None = None) -> None:
    with model_call(workspace, purpose="generation", scope_id=workspace.pk, model="m"):
        if error is not None:
            raise error


def fail(workspace: Workspace, times: int) -> None:
    for _ in range(times):
        with pytest.raises(ProviderError):
            call(workspace, OUT)


def state_of(workspace: Workspace) -> str:
    [circuit] = circuits_of(workspace)
    return circuit.state


def let_the_pause_pass(workspace: Workspace) -> None:
    with system_scope():
        workspace.circuits.update(next_probe_at="2026-01-01T00:00:00Z")


def test_a_circuit_opens_at_the_third_failure_in_a_row(workspace: Workspace) -> None:
    fail(workspace, 2)
    call(workspace)
    fail(workspace, 2)
    assert state_of(workspace) == "closed"
    fail(workspace, 1)
    [circuit] = circuits_of(workspace)
    assert (circuit.state, circuit.failures, circuit.reason) == ("open", 3, "connection")
    with pytest.raises(CircuitOpen) as refused:
        call(workspace)
    assert refused.value.retryable
    assert 1 < (refused.value.retry_after_seconds or 0) <= 30
    assert_clean(workspace)


def test_an_open_circuit_leaves_other_workspaces_alone(workspace: Workspace) -> None:
    fail(workspace, 3)
    other = create_workspace(workspace.tenant, slug="other", name="Other")
    call(other)
    assert (state_of(workspace), state_of(other)) == ("open", "closed")


def test_an_open_circuit_of_one_provider_leaves_others_alone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(workspace, 3)
    monkeypatch.setattr("workspaces.services.model_calls.chat_provider", lambda: "elsewhere")
    call(workspace)
    assert {c.provider: c.state for c in circuits_of(workspace)} == {
        registry.chat_provider(): "open",
        "elsewhere": "closed",
    }


def test_an_answer_of_no_use_shows_that_the_circuit_may_close(workspace: Workspace) -> None:
    fail(workspace, 2)
    with pytest.raises(MalformedReply):
        call(workspace, MalformedReply("no use"))
    fail(workspace, 2)
    assert state_of(workspace) == "closed"
    assert_clean(workspace)


def test_one_call_tries_the_service_and_closes_the_circuit(workspace: Workspace) -> None:
    fail(workspace, 3)
    let_the_pause_pass(workspace)
    fail(workspace, 1)  # the try fails, and the pause begins anew
    with pytest.raises(CircuitOpen):
        call(workspace)
    assert state_of(workspace) == "open"
    let_the_pause_pass(workspace)
    call(workspace)
    assert state_of(workspace) == "closed"
    fail(workspace, 2)
    assert state_of(workspace) == "closed"
    assert_clean(workspace)


@contextmanager
def pool(size: int) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(size) as threads:
        yield threads


def test_of_five_workers_that_wait_for_the_circuit_one_tries(workspace: Workspace) -> None:
    fail(workspace, 3)
    let_the_pause_pass(workspace)
    provider, together = registry.chat_provider(), Barrier(5)

    def ask(_: int) -> bool:
        try:
            together.wait()
            return check_circuit(workspace, provider=provider) is not None
        except CircuitOpen:
            return False
        finally:
            connection.close()

    with pool(5) as threads:
        may = list(threads.map(ask, range(5)))
    assert sorted(may) == [False, False, False, False, True]
    assert state_of(workspace) == "probing"


def test_a_call_from_before_the_circuit_opened_does_not_end_the_try_that_is_under_way(
    workspace: Workspace,
) -> None:
    provider = registry.chat_provider()

    def fail_late() -> None:
        with model_call(workspace, purpose="generation", scope_id=workspace.pk, model="m"):
            fail(workspace, 3)
            let_the_pause_pass(workspace)
            assert check_circuit(workspace, provider=provider) is not None
            raise OUT

    with pytest.raises(ProviderError):
        fail_late()
    let_the_pause_pass(workspace)
    assert state_of(workspace) == "probing"
    with pytest.raises(CircuitOpen):
        check_circuit(workspace, provider=provider)


def test_the_try_of_a_process_that_died_gives_way_to_another(workspace: Workspace) -> None:
    provider = registry.chat_provider()
    fail(workspace, 3)
    let_the_pause_pass(workspace)
    assert check_circuit(workspace, provider=provider) is not None
    with system_scope():
        workspace.circuits.update(probe_until="2026-01-01T00:00:00Z")
    assert check_circuit(workspace, provider=provider) is not None


def test_events_wait_behind_an_open_circuit_without_a_call_and_without_losing_attempts(
    workspace: Workspace, model: ScriptedModel
) -> None:
    model.answers["assignment"] = failure(401)
    received = remember(workspace, *[draft(f"{PORT} {n}", minutes=n) for n in range(5)])
    assert len(model.chats()) == 3
    assert state_of(workspace) == "open"
    assert {state for _, state, _ in unfinished_jobs(workspace)} == {"ready"}
    assert (
        sum(
            "circuit" in error or "tried again" in error for *_, error in unfinished_jobs(workspace)
        )
        == 2
    )
    model.answers["assignment"] = create("Atlas", evidence="Atlas gateway")
    for _ in range(2):
        make_due(workspace)
        drain(workspace)
    results = results_of(workspace, [row.event_id for row in received])
    assert {row.status for row in results} == {"processed"}
    assert state_of(workspace) == "closed"
    assert_clean(workspace)

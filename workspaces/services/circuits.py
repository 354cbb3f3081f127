"""A breaker per workspace and provider: a service that fails is left alone, and then tried once.

The state is a row, so that all processes agree; who may try is decided by compare-and-swap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import ProviderError
from holamem.ids import new_id
from workspaces.models.circuits import Circuit
from workspaces.models.tenancy import Workspace
from workspaces.models.usage import ModelCall

FAILURES_TO_OPEN = 3
PAUSE_SECONDS = 30  # between the last failure and the next try
LONGEST_CALL_SECONDS = 600.0  # of any part; a stream goes on for as long as it brings something
PROBE_GRACE_SECONDS = 30  # beyond the end of a call; then its process is taken for dead


class CircuitOpen(ProviderError):
    """Nothing was called: the service has failed too often. It counts as an outage."""

    def __init__(self, *, provider: str, retry_after_seconds: float) -> None:
        super().__init__(
            f"The model service {provider} has failed repeatedly; it is tried again soon.",
            retryable=True,
            retry_after_seconds=retry_after_seconds,
            detail={"kind": "circuit_open", "provider": provider},
        )


@dataclass(frozen=True, slots=True)
class CircuitState:
    """`state` is `closed`, `open` or `probing`; `reason` is one machine word of the last failure."""

    provider: str
    state: str
    failures: int
    reason: str
    opened_at: datetime | None
    next_probe_at: datetime | None
    last_failure_at: datetime | None


def check_circuit(
    workspace: Workspace, *, provider: str, seconds: float = LONGEST_CALL_SECONDS
) -> UUID | None:
    """Ask before a call of at most `seconds`. A token: the circuit is open, and this call tries
    the service; it goes back with the result. Raises CircuitOpen.
    """
    with workspace_scope(workspace):
        circuit = workspace.circuits.filter(provider=provider, opened_at__isnull=False).first()
        if circuit is None:
            return None
        token = _take_probe(workspace, circuit=circuit, seconds=seconds)
    if token is None:
        raise CircuitOpen(provider=provider, retry_after_seconds=_wait_seconds(circuit))
    return token


def _take_probe(workspace: Workspace, *, circuit: Circuit, seconds: float) -> UUID | None:
    """One at a time; a process that died with it is waited for no longer than a call takes."""
    token = new_id()
    lease = timedelta(seconds=seconds + PROBE_GRACE_SECONDS)
    free = Q(probe_until=None) | Q(probe_until__lte=Now())
    taken = workspace.circuits.filter(
        free, id=circuit.id, opened_at__isnull=False, next_probe_at__lte=Now()
    ).update(probe_token=token, probe_until=Now() + lease)
    return token if taken else None


def _wait_seconds(circuit: Circuit) -> float:
    """Until the next try; while one is under way, the usual pause."""
    left = (circuit.next_probe_at or now()) - now()
    return left.total_seconds() if left > timedelta(seconds=1) else float(PAUSE_SECONDS)


def note_result(
    workspace: Workspace, *, provider: str, outcome: str, error: str = "", probe: UUID | None = None
) -> int:
    """What came of a call; returns its number among the calls to this provider.

    Inside the caller's step, with which the row is kept: calls count in the order of their
    commits. An answer of no use is an answer; a call that was given up says nothing.
    """
    circuit = _locked(workspace, provider=provider)
    circuit.calls += 1
    if outcome == ModelCall.Outcome.FAILED:
        _fail(circuit, error=error, probe=probe)
    elif outcome != ModelCall.Outcome.CANCELLED:
        _close(circuit)
    elif probe is not None and circuit.probe_token == probe:
        circuit.probe_token = circuit.probe_until = None
    circuit.save()
    return circuit.calls


def _locked(workspace: Workspace, *, provider: str) -> Circuit:
    workspace.circuits.bulk_create(
        [Circuit(workspace=workspace, provider=provider)], ignore_conflicts=True
    )
    return workspace.circuits.select_for_update().get(provider=provider)


def _fail(circuit: Circuit, *, error: str, probe: UUID | None) -> None:
    """A call that began before the circuit opened does not touch the try that is under way."""
    circuit.failures += 1
    circuit.reason = error[:60]
    circuit.last_failure_at = Now()
    if circuit.opened_at is None:
        if circuit.failures >= FAILURES_TO_OPEN:
            circuit.opened_at = Now()
            circuit.next_probe_at = Now() + timedelta(seconds=PAUSE_SECONDS)
    elif probe is not None and circuit.probe_token == probe:
        circuit.next_probe_at = Now() + timedelta(seconds=PAUSE_SECONDS)
        circuit.probe_token = circuit.probe_until = None


def _close(circuit: Circuit) -> None:
    circuit.failures = 0
    circuit.reason = ""
    circuit.opened_at = circuit.next_probe_at = None
    circuit.probe_token = circuit.probe_until = None


def circuits_of(workspace: Workspace) -> Sequence[CircuitState]:
    """One of each provider that was ever called, in order of name."""
    with workspace_scope(workspace):
        return [_state(circuit) for circuit in workspace.circuits.order_by("provider")]


def _state(circuit: Circuit) -> CircuitState:
    state = "closed" if circuit.opened_at is None else "open"
    if circuit.probe_until is not None and circuit.probe_until > now():
        state = "probing"
    return CircuitState(
        provider=circuit.provider,
        state=state,
        failures=circuit.failures,
        reason=circuit.reason,
        opened_at=circuit.opened_at,
        next_probe_at=circuit.next_probe_at,
        last_failure_at=circuit.last_failure_at,
    )

"""What the calls of chat models took: recorded call by call, read by day and purpose."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet, Sum

from holamem.clock import now
from holamem.database.scope import system_scope, workspace_scope
from holamem.environment import get_environment
from holamem.errors import InvalidInput
from holamem.ids import new_id
from holamem.providers.base import Usage
from workspaces.models.tenancy import Workspace
from workspaces.models.usage import ModelCall, UsageDay
from workspaces.services.circuits import note_result

NAME_CHARACTERS = {"purpose": 40, "provider": 100, "model": 200, "error": 60}
PRICED_TOKENS = 1_000_000  # a price is for so many
DAYS_SHOWN = 30  # unless others are named
DAYS_MAX = 366


@dataclass(frozen=True, slots=True)
class CallMade:
    """One call of a chat model that ended. `error` is one machine word; `probe` is the token
    that `check_circuit` gave, if any.
    """

    purpose: str
    provider: str
    model: str
    usage: Usage
    scope_id: UUID
    outcome: str = ModelCall.Outcome.SUCCEEDED
    error: str = ""
    duration_ms: int = 0
    run_id: UUID | None = None
    session_id: UUID | None = None
    probe: UUID | None = None


def record_model_call(workspace: Workspace, *, call: CallMade) -> None:
    """The row, the day's sum and the circuit in one commit, whatever came of the call.

    Outside of any transaction of the caller's: the circuit is kept until the commit.
    """
    cost = cost_of(call.usage)
    with workspace_scope(workspace, [call.scope_id]):
        seq = note_result(
            workspace,
            provider=call.provider[: NAME_CHARACTERS["provider"]],
            outcome=call.outcome,
            error=call.error,
            probe=call.probe,
        )
        row = _row(workspace, call=call, cost=cost, seq=seq)
        row.save(force_insert=True)
        _add_to_day(row)


def cost_of(usage: Usage) -> Decimal | None:
    """In US dollars, by the prices of the environment; None while one of them is not set."""
    environment = get_environment()
    price_in, price_out = environment.chat_price_in, environment.chat_price_out
    if price_in is None or price_out is None:
        return None
    return (usage.input_tokens * price_in + usage.output_tokens * price_out) / PRICED_TOKENS


def _row(workspace: Workspace, *, call: CallMade, cost: Decimal | None, seq: int) -> ModelCall:
    names = {
        name: str(getattr(call, name))[:characters] for name, characters in NAME_CHARACTERS.items()
    }
    return ModelCall(
        workspace=workspace,
        scope_id=call.scope_id,
        **names,
        input_tokens=call.usage.input_tokens,
        output_tokens=call.usage.output_tokens,
        estimated=call.usage.estimated,
        cost=cost,
        duration_ms=call.duration_ms,
        outcome=call.outcome,
        circuit_seq=seq,
        run_id=call.run_id,
        session_id=call.session_id,
        at=now(),
    )


# Raw SQL: the ORM has no insert that adds to the row that is there.
_ADD = """
INSERT INTO workspaces_usageday (id, workspace_id, day, purpose, provider, model, calls,
            without_answer, input_tokens, output_tokens, cost, without_price)
VALUES (%s, %s, %s, %s, %s, %s, 1, %s, %s, %s, %s, %s)
ON CONFLICT (workspace_id, day, purpose, provider, model) DO UPDATE SET
  calls = workspaces_usageday.calls + 1,
  without_answer = workspaces_usageday.without_answer + excluded.without_answer,
  input_tokens = workspaces_usageday.input_tokens + excluded.input_tokens,
  output_tokens = workspaces_usageday.output_tokens + excluded.output_tokens,
  cost = workspaces_usageday.cost + excluded.cost,
  without_price = workspaces_usageday.without_price + excluded.without_price
"""


def _add_to_day(row: ModelCall) -> None:
    values: list[Any] = [
        new_id(),
        row.workspace_id,
        day_of(row.at),
        row.purpose,
        row.provider,
        row.model,
        int(row.outcome != ModelCall.Outcome.SUCCEEDED),
        row.input_tokens,
        row.output_tokens,
        row.cost or 0,
        int(row.cost is None),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_ADD, values)


def day_of(moment: datetime) -> date:
    """Days are UTC's: a tenant's workspaces may lie in several zones, and share one limit."""
    return moment.astimezone(UTC).date()


@dataclass(frozen=True, slots=True)
class Taken:
    """What some calls took. `cost` is in US dollars, None when none of them has a price."""

    calls: int
    without_answer: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    without_price: int


@dataclass(frozen=True, slots=True)
class DayOfUsage:
    """`day` is one in UTC."""

    day: date
    purpose: str
    taken: Taken


@dataclass(frozen=True, slots=True)
class UsageReport:
    """`days` by day and purpose, in this order; days without a call are left out."""

    since: date
    until: date
    total: Taken
    days: list[DayOfUsage]


_SUMMED = ("calls", "without_answer", "input_tokens", "output_tokens", "cost", "without_price")
_SUMS = {name: Sum(name) for name in _SUMMED}


def usage_by_day(
    workspace: Workspace, *, since: date | None = None, until: date | None = None
) -> UsageReport:
    """Both days are included; without them, the last 30. Raises InvalidInput."""
    first, last = _span(since, until)
    with workspace_scope(workspace):
        return _report(workspace.usage_days.all(), since=first, until=last)


def tenant_usage(
    tenant_id: UUID, *, since: date | None = None, until: date | None = None
) -> UsageReport:
    """The same over all workspaces of a tenant, archived ones included."""
    first, last = _span(since, until)
    with system_scope():
        days = UsageDay.objects.filter(workspace__tenant_id=tenant_id)
        return _report(days, since=first, until=last)


def _span(since: date | None, until: date | None) -> tuple[date, date]:
    last = until or day_of(now())
    first = since or last - timedelta(days=DAYS_SHOWN - 1)
    if first > last:
        raise InvalidInput("The first day comes after the last one.", field="since")
    if (last - first).days >= DAYS_MAX:
        raise InvalidInput(f"At most {DAYS_MAX} days are shown.", field="since")
    return first, last


def _report(days: QuerySet[UsageDay], *, since: date, until: date) -> UsageReport:
    rows = days.filter(day__range=(since, until)).order_by("day", "purpose")
    grouped = rows.values("day", "purpose").annotate(**_SUMS)
    total = rows.order_by().aggregate(**_SUMS)
    return UsageReport(
        since=since,
        until=until,
        total=_taken(total),
        days=[DayOfUsage(row["day"], row["purpose"], _taken(row)) for row in grouped],
    )


def _taken(sums: dict[str, Any]) -> Taken:
    calls, without_price = sums["calls"] or 0, sums["without_price"] or 0
    return Taken(
        calls=calls,
        without_answer=sums["without_answer"] or 0,
        input_tokens=sums["input_tokens"] or 0,
        output_tokens=sums["output_tokens"] or 0,
        cost=None if calls == without_price else sums["cost"],
        without_price=without_price,
    )

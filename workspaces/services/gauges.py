"""What `GET /metrics` reads of all workspaces together: sums, and nobody's name."""

from collections.abc import Iterator
from datetime import UTC

from django.db.models import Count, Sum

from holamem.clock import now
from holamem.database.scope import system_scope
from holamem.metrics import Gauge, Values, register_gauge
from workspaces.models.circuits import Circuit
from workspaces.models.jobs import Job
from workspaces.models.trees import Tree
from workspaces.models.usage import UsageDay
from workspaces.services.status import oldest_due_seconds

WAITING = (Job.State.READY, Job.State.RUNNING, Job.State.PARKED)


def register() -> None:
    """Called once when the app is ready."""
    register_gauge(Gauge("holamem_jobs", "Jobs by topic and state.", ("topic", "state"), _jobs))
    register_gauge(Gauge("holamem_queue_age_seconds", "Age of the oldest due job.", (), _age))
    register_gauge(Gauge("holamem_leaves", "Active leaves.", (), _leaves))
    register_gauge(
        Gauge("holamem_open_circuits", "Model services not called for now.", (), _circuits)
    )
    register_gauge(
        Gauge(
            "holamem_open_circuits_by_reason",
            "Model services not called for now, by the word for their last failure.",
            ("reason",),
            _circuit_reasons,
        )
    )
    register_gauge(
        Gauge(
            "holamem_model_usage_today",
            "Calls, tokens and US dollars of chat models since midnight UTC.",
            ("purpose", "what"),
            _usage,
        )
    )


def _jobs() -> Values:
    with system_scope():
        rows = Job.objects.filter(state__in=WAITING).values_list("topic", "state")
        counted = list(rows.annotate(number=Count("id")).order_by())
    return [((topic, state), number) for topic, state, number in counted]


def _age() -> Values:
    return [((), oldest_due_seconds())]


def _leaves() -> Values:
    with system_scope():
        return [((), Tree.objects.aggregate(leaves=Sum("leaf_count"))["leaves"] or 0)]


def _circuits() -> Values:
    with system_scope():
        return [((), Circuit.objects.filter(opened_at__isnull=False).count())]


def _circuit_reasons() -> Values:
    with system_scope():
        rows = Circuit.objects.filter(opened_at__isnull=False).values_list("reason")
        return [((reason,), number) for reason, number in rows.annotate(n=Count("id")).order_by()]


def _usage() -> Values:
    return list(_usage_today())


def _usage_today() -> Iterator[tuple[tuple[str, ...], float]]:
    sums = {name: Sum(name) for name in ("calls", "input_tokens", "output_tokens", "cost")}
    with system_scope():
        days = UsageDay.objects.filter(day=now().astimezone(UTC).date())
        rows = list(days.values("purpose").annotate(**sums).order_by())
    for row in rows:
        for name in sums:
            yield (row["purpose"], name), float(row[name] or 0)

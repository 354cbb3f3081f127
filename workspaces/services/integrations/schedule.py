"""What the sweep does for connectors: passes that are due by interval, and passes that died."""

from datetime import timedelta

from django.db.models import DateTimeField, DurationField, ExpressionWrapper, F, Q, Value

from holamem.clock import now
from holamem.database.scope import system_scope, workspace_scope
from workspaces.models.connectors import Connector
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.services.integrations.connectors import queue_sync

BATCH = 100
MOVING = (Connector.Status.QUEUED, Connector.Status.RUNNING)
LIVE = (Job.State.READY, Job.State.RUNNING)
MINUTE = Value(timedelta(minutes=1), output_field=DurationField())


def sweep_connectors() -> int:
    """Returns the number of passes that were queued."""
    for connector in _moving():
        with workspace_scope(connector.workspace, [connector.scope_id]):
            _settle_dead(connector.workspace, connector=connector)
    queued = 0
    for connector in _due():
        with workspace_scope(connector.workspace, [connector.scope_id]):
            queued += _queue(connector.workspace, connector=connector)
    return queued


def _due() -> list[Connector]:
    """Intervals count from the end of a pass, so that a slow one does not follow itself."""
    interval = ExpressionWrapper(F("interval_minutes") * MINUTE, output_field=DurationField())
    latest = ExpressionWrapper(Value(now()) - interval, output_field=DateTimeField())
    with system_scope():
        rows = Connector.objects.select_related("workspace__tenant").filter(
            Q(last_finished_at=None) | Q(last_finished_at__lte=latest),
            enabled=True,
            interval_minutes__isnull=False,
            workspace__archived_at=None,
            workspace__tenant__suspended_at=None,
        )
        return list(rows.exclude(status__in=MOVING).order_by("last_finished_at", "id")[:BATCH])


def _queue(workspace: Workspace, *, connector: Connector) -> bool:
    """Inside a step of its workspace; somebody may have asked or stopped it meanwhile."""
    rows = workspace.connectors.select_for_update().filter(id=connector.id, enabled=True)
    current = rows.exclude(status__in=MOVING).first()
    if current is None:
        return False
    queue_sync(workspace, connector=current)
    return True


def _moving() -> list[Connector]:
    with system_scope():
        rows = Connector.objects.select_related("workspace__tenant").filter(status__in=MOVING)
        return list(rows.order_by("last_started_at", "id")[:BATCH])


def _settle_dead(workspace: Workspace, *, connector: Connector) -> None:
    """A pass whose job was parked or cancelled does not move, whatever its row says."""
    current = workspace.connectors.select_for_update().get(id=connector.id)
    jobs = workspace.jobs.filter(topic=Job.Topic.CONNECTOR_SYNC, target_id=connector.id)
    if current.status not in MOVING or jobs.filter(state__in=LIVE).exists():
        return
    last = jobs.order_by("-id").first()
    current.status = Connector.Status.FAILED
    current.error = (last.error if last else "") or "The pass was cancelled."
    current.last_finished_at = now()
    current.save(update_fields=["status", "error", "last_finished_at"])

"""Handler of `connector.sync`: one pass over an outside system, page by page.

Each page commits its events, what was seen of their objects, the cursor and the counts together,
so that a worker that is killed between two pages neither loses nor repeats anything.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models.functions import Now

from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import HolamemError
from holamem.text.secrets import mask_secrets
from workspaces.connectors.base import DeletionsHeld, Failure, Item, Page, Scan, problem_of
from workspaces.connectors.registry import kind_named
from workspaces.models.connectors import Connector, ConnectorObject
from workspaces.models.jobs import Job
from workspaces.models.log import Category, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import EventDraft, build_event, store_events
from workspaces.services.integrations.connectors import ALLOW_DELETIONS, PRIORITY
from workspaces.services.jobs import ClaimedJob, LeaseLost, add_job, require_lease

PASS_SECONDS = 60  # far below the queue's limit for one task
FAILURES_SHOWN = 20
ERROR_CHARACTERS = 500
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK_LEEWAY = timedelta(hours=24)
# Revisions of one object never share a time: the order in which they were seen is the true one.
TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Seen:
    version: str
    stated_at: datetime
    is_deleted: bool


@dataclass(frozen=True, slots=True)
class _Change:
    """An unsaved event, and the mark of the object's state that it tells of."""

    event: Event
    version: str


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A page with its events built, before any transaction."""

    page: Page
    changes: Sequence[_Change]


@dataclass(slots=True)
class _Pass:
    """What a pass has met so far. `refused`: items that were read and could be no event."""

    connector: Connector
    seen: Mapping[str, _Seen]
    allow_deletions: bool = False
    failures: list[Failure] = field(default_factory=list)
    refused: int = 0

    def refuse(self, name: str, reason: str) -> None:
        self.failures.append(Failure(mask_secrets(name).text, reason))
        self.refused += 1

    def progress(self, page: Page) -> dict[str, Any]:
        counts = page.progress.as_dict()
        counts["changed"] -= self.refused
        counts["failed"] += self.refused
        shown = [asdict(failure) for failure in self.failures[:FAILURES_SHOWN]]
        return {**counts, "failures": shown}


def run_sync(workspace: Workspace, job: ClaimedJob) -> None:
    """One pass, or as much of it as a minute holds; the rest is queued behind other work.

    A source that cannot be read is shown on the connector and not tried again by itself.
    """
    connector = _start(workspace, job=job)
    if connector is None:
        return
    try:
        _run_pages(workspace, job=job, connector=connector)
    except LeaseLost:
        raise
    except DeletionsHeld as error:
        _fail(workspace, job=job, error=error.message, held=error.detail["gone"])
    except HolamemError as error:
        _fail(workspace, job=job, error=error.message)
    except Exception:
        _show_error(workspace, job=job, error="The pass stopped unexpectedly.")
        raise


def _start(workspace: Workspace, *, job: ClaimedJob) -> Connector | None:
    """None when it is gone or was stopped meanwhile."""
    with workspace_scope(workspace, [job.scope_id]):
        connector = workspace.connectors.select_for_update().filter(id=job.target_id).first()
        require_lease(job)
        if connector is None:
            return None
        connector.status = Connector.Status.RUNNING if connector.enabled else Connector.Status.IDLE
        connector.error = ""
        if connector.enabled and not connector.cursor:
            connector.last_started_at, connector.progress = now(), {}
        connector.save(update_fields=["status", "error", "last_started_at", "progress"])
    return connector if connector.enabled else None


def _run_pages(workspace: Workspace, *, job: ClaimedJob, connector: Connector) -> None:
    deadline = time.monotonic() + PASS_SECONDS
    current = _Pass(
        connector,
        _seen_before(workspace, connector=connector),
        allow_deletions=job.payload.get(ALLOW_DELETIONS) is True,
    )
    for page in _pages(workspace, current=current):
        prepared = _prepare(workspace, page=page, current=current)
        faults.point("sync.page_ready")
        goes_on = _commit(workspace, job=job, prepared=prepared, current=current)
        faults.point("sync.after_page")
        if not goes_on:
            return
        if time.monotonic() > deadline:
            _go_on_later(workspace, job=job)
            return


def _pages(workspace: Workspace, *, current: _Pass) -> Iterator[Page]:
    scan = Scan(
        settings=current.connector.settings,
        tenant=workspace.tenant.slug,
        zone=workspace.preferences.zone,
        cursor=current.connector.cursor,
        known={name: row.version for name, row in current.seen.items() if not row.is_deleted},
        allow_deletions=current.allow_deletions,
    )
    return kind_named(current.connector.kind).fetch(scan)


def _seen_before(workspace: Workspace, *, connector: Connector) -> dict[str, _Seen]:
    with workspace_scope(workspace, [connector.scope_id]):
        rows = workspace.connector_objects.filter(connector=connector).values_list(
            "external_id", "version", "stated_at", "is_deleted"
        )
        return {name: _Seen(version, at, gone) for name, version, at, gone in rows}


def _prepare(workspace: Workspace, *, page: Page, current: _Pass) -> _Prepared:
    """What cannot be an event is a failure of its object, and stops nothing else."""
    scope_id = current.connector.scope_id
    current.failures += page.failures
    changes: list[_Change] = []
    for item in page.items:
        problem = problem_of(item)
        if problem is not None:
            current.refuse(item.external_id, problem)
            continue
        draft = _revision(item, current=current)
        event = build_event(workspace, draft=draft, scope_id=scope_id)
        changes.append(_Change(event, item.version))
    for name in page.deletions:
        draft = _deletion(name, current=current)
        changes.append(_Change(build_event(workspace, draft=draft, scope_id=scope_id), ""))
    return _Prepared(page, changes)


def _revision(item: Item, *, current: _Pass) -> EventDraft:
    return EventDraft(
        kind=Event.Kind.DOCUMENT_REVISION,
        text=item.text,
        occurred_at=_in_order(_usable(item.occurred_at), seen=current.seen.get(item.external_id)),
        external_id=item.external_id,
        category=Category.INTEGRATION,
        provider=current.connector.provider,
        account=current.connector.account,
        metadata={"title": item.title} if item.title else {},
    )


def _deletion(name: str, *, current: _Pass) -> EventDraft:
    return EventDraft(
        kind=Event.Kind.SYNC_ITEM,
        text="",
        deleted=True,
        occurred_at=_in_order(now(), seen=current.seen.get(name)),
        external_id=name,
        category=Category.INTEGRATION,
        provider=current.connector.provider,
        account=current.connector.account,
    )


def _usable(moment: datetime | None) -> datetime:
    """What a source says about time counts within what any event may say."""
    try:
        is_usable = moment is not None and EARLIEST <= moment <= now() + CLOCK_LEEWAY
    except OverflowError:  # a year at the edge of the calendar, moved over it by its zone
        is_usable = False
    return moment.astimezone(UTC) if moment is not None and is_usable else now()


def _in_order(moment: datetime, *, seen: _Seen | None) -> datetime:
    """A file that was put back with its old time is still what the source says now."""
    return moment if seen is None else max(moment, seen.stated_at + TICK)


def _commit(workspace: Workspace, *, job: ClaimedJob, prepared: _Prepared, current: _Pass) -> bool:
    """One step for the page. False when the pass is over, or the connector was stopped."""
    page = prepared.page
    with workspace_scope(workspace, [current.connector.scope_id]):
        connector = workspace.connectors.select_for_update().get(id=current.connector.id)
        require_lease(job)
        if not connector.enabled:
            _end(workspace, job=job, connector=connector)
            return False
        _store(workspace, connector=connector, prepared=prepared)
        connector.cursor = dict(page.cursor)
        connector.progress = current.progress(page)
        connector.save(update_fields=["cursor", "progress"])
        if not page.cursor:
            _end(workspace, job=job, connector=connector)
        faults.point("sync.before_commit")
    return bool(page.cursor)


def _store(workspace: Workspace, *, connector: Connector, prepared: _Prepared) -> None:
    """The page's events with their jobs, and the marks of their objects."""
    events = [change.event for change in prepared.changes]
    stored = store_events(workspace, events=events)
    ConnectorObject.objects.bulk_create(
        [
            ConnectorObject(
                workspace=workspace,
                scope_id=connector.scope_id,
                connector=connector,
                external_id=change.event.external_id,
                version=change.version,
                is_deleted=change.event.deleted,
                event=event,
                stated_at=change.event.occurred_at or change.event.received_at,
            )
            for change, event in zip(prepared.changes, stored, strict=True)
        ],
        update_conflicts=True,
        unique_fields=["connector", "external_id"],
        update_fields=["version", "is_deleted", "event", "stated_at"],
    )
    for name, version in prepared.page.unchanged.items():
        connector.objects_seen.filter(external_id=name).update(version=version)


def _end(workspace: Workspace, *, job: ClaimedJob, connector: Connector, error: str = "") -> None:
    """Inside the caller's step. A pass that was asked for meanwhile waits already.

    The job ends here, with what it did: done again by the next worker, a pass that had ended
    would show the counts of one that found nothing.
    """
    jobs = workspace.jobs.filter(topic=Job.Topic.CONNECTOR_SYNC, target_id=connector.id)
    waits = jobs.filter(state=Job.State.READY).exists()
    settled = Connector.Status.FAILED if error else Connector.Status.IDLE
    connector.status = Connector.Status.QUEUED if waits and connector.enabled else settled
    connector.error, connector.last_finished_at = error[:ERROR_CHARACTERS], now()
    connector.save(update_fields=["status", "error", "last_finished_at"])
    jobs.filter(id=job.id).update(
        state=Job.State.DONE, done_at=Now(), lease_token=None, lease_until=None, error=""
    )


def _fail(workspace: Workspace, *, job: ClaimedJob, error: str, held: int = 0) -> None:
    """`held`: how many deletions wait for somebody's word."""
    with workspace_scope(workspace, [job.scope_id]):
        connector = workspace.connectors.select_for_update().get(id=job.target_id)
        require_lease(job)
        if held:
            connector.progress = {**connector.progress, "held_deletions": held}
            connector.save(update_fields=["progress"])
        _end(workspace, job=job, connector=connector, error=error)


def _show_error(workspace: Workspace, *, job: ClaimedJob, error: str) -> None:
    """The job is tried again, so the pass has not ended."""
    with workspace_scope(workspace, [job.scope_id]):
        connector = workspace.connectors.select_for_update().get(id=job.target_id)
        require_lease(job)
        connector.status, connector.error = Connector.Status.QUEUED, error
        connector.save(update_fields=["status", "error"])


def _go_on_later(workspace: Workspace, *, job: ClaimedJob) -> None:
    """Other work gets a turn, and the queue kills no worker that makes progress."""
    with workspace_scope(workspace, [job.scope_id]):
        connector = workspace.connectors.select_for_update().get(id=job.target_id)
        require_lease(job)
        add_job(
            workspace,
            topic=job.topic,
            target_id=job.target_id,
            scope_id=job.scope_id,
            payload=job.payload,
            priority=PRIORITY,
        )
        connector.status = Connector.Status.QUEUED
        connector.save(update_fields=["status"])

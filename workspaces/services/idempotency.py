"""A write that comes again with its Idempotency-Key is answered again, and not done again.

The first request takes a claim, a durable row with a lease, before it works. Every step of its
work that writes marks the claim in the same commit, so that a request which finds a claim whose
lease is over knows whether anything was done: if not, it takes the claim over; if so, all that
is lost is the answer. Whoever lost the lease cannot commit any more.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import connection

from holamem.clock import now
from holamem.database.scope import system_scope
from holamem.errors import Conflict, IdempotencyMismatch, StillRunning
from workspaces.models.log import IdempotencyRecord
from workspaces.models.tenancy import Workspace

LEASE = timedelta(seconds=120)  # beyond the longest deadline of a model service
MAX_RETRY_SECONDS = 5
LOST_ANSWER = 500


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """`address` is method and concrete path; `content_sha256` is over query and body."""

    api_key_id: UUID
    address: str
    key: str
    content_sha256: str
    workspace: Workspace | None
    scope_id: UUID | None

    @property
    def place(self) -> str:
        return hashlib.sha256(self.address.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to do the work of one request, until the lease ends."""

    record_id: UUID
    token: UUID


@dataclass(frozen=True, slots=True)
class Answered:
    """The first answer. `is_lost`: the work was done, but nobody knows what was answered."""

    status: int
    body: str
    is_lost: bool = False


def take_claim(request: KeyedRequest) -> Claim | Answered:
    """Raises IdempotencyMismatch for another body, StillRunning, or Conflict for a cleaned answer."""
    with system_scope():
        claim = _new_claim(request)
        if claim is not None:
            return claim
        rows = IdempotencyRecord.objects.select_for_update().filter(
            api_key_id=request.api_key_id, path=request.place, key=request.key
        )
        record = rows.first()
        if record is None:  # given up in this moment
            raise StillRunning("The first request with this Idempotency-Key has just ended.")
        return _earlier(record, request=request)


def _new_claim(request: KeyedRequest) -> Claim | None:
    """None when the key was used before: a conflict makes no row and no error."""
    token, record_id = uuid4(), uuid4()
    record = IdempotencyRecord(
        id=record_id,
        workspace=request.workspace,
        scope_id=request.scope_id,
        api_key_id=request.api_key_id,
        path=request.place,
        key=request.key,
        body_sha256=request.content_sha256,
        lease_token=token,
        lease_until=now() + LEASE,
    )
    IdempotencyRecord.objects.bulk_create([record], ignore_conflicts=True)
    made = IdempotencyRecord.objects.filter(id=record_id, lease_token=token).exists()
    return Claim(record_id, token) if made else None


def _earlier(record: IdempotencyRecord, *, request: KeyedRequest) -> Claim | Answered:
    if record.body_sha256 != request.content_sha256:
        raise IdempotencyMismatch("This Idempotency-Key was used with another request.")
    if record.is_cleaned:
        raise Conflict(
            "The request was done, and its answer was erased since.",
            detail={"code": "answer_erased"},
        )
    if record.answer_status is not None:
        return Answered(record.answer_status, record.answer_body)
    left = (record.lease_until or now()) - now()
    if left > timedelta(0):
        raise StillRunning(
            "The first request with this Idempotency-Key is still running.",
            detail={"retry_after_seconds": min(left.total_seconds(), MAX_RETRY_SECONDS)},
        )
    if record.is_done:
        return Answered(LOST_ANSWER, "", is_lost=True)
    return _taken_over(record)


def _taken_over(record: IdempotencyRecord) -> Claim:
    token = uuid4()
    IdempotencyRecord.objects.filter(id=record.id).update(
        lease_token=token, lease_until=now() + LEASE
    )
    return Claim(record.id, token)


# Before a commit: whether it writes at all, and whether the claim is still held.
_MARK = """
WITH work AS (SELECT pg_current_xact_id_if_assigned() IS NOT NULL AS is_any),
     marked AS (UPDATE workspaces_idempotencyrecord AS r SET is_done = true FROM work
                 WHERE work.is_any AND r.id = %(record)s AND r.lease_token = %(token)s
                 RETURNING 1)
SELECT work.is_any AND NOT EXISTS (SELECT 1 FROM marked) FROM work
"""


def marking(claim: Claim) -> Callable[[], None]:
    """What `database.scope.at_commit` runs at the end of each transaction of the work."""

    def mark() -> None:
        with connection.cursor() as cursor:
            cursor.execute(_MARK, {"record": claim.record_id, "token": claim.token})
            [is_lost] = cursor.fetchone()
        if is_lost:
            raise StillRunning("Another request with this Idempotency-Key took the work over.")

    return mark


def keep_answer(claim: Claim, *, status: int, body: str) -> None:
    """Keeps what must not be done again; of a request that did nothing the claim is given up.

    So is that of a request that was not valid, whatever was noted about it.
    """
    with system_scope():
        held = IdempotencyRecord.objects.filter(id=claim.record_id, lease_token=claim.token)
        kept = held if status < 400 else held.filter(is_done=True)
        if status == 400 or not kept.update(
            answer_status=status,
            answer_body=body,
            is_done=True,
            lease_token=None,
            lease_until=None,
        ):
            held.delete()


def remove_old_answers(*, before: datetime) -> None:
    """Of all workspaces, and claims that nobody came back for."""
    with system_scope():
        IdempotencyRecord.objects.filter(created_at__lt=before).delete()

"""The calls of the API without the sending: what to send, and how to read the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypedDict, TypeVar
from uuid import uuid4

from holamem.client.answers import Browsed, Me, ReceivedBatch, Remembered, Retrieved
from holamem.client.typed import read

Answer = TypeVar("Answer")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    data: Any
    is_replayed: bool


@dataclass(frozen=True, slots=True)
class Operation(Generic[Answer]):
    """`path` is below the workspace, or below /api/v1 with `in_workspace` False.

    A write carries an `idempotency_key`, so that a retry is never a second write.
    """

    method: str
    path: str
    parse: Callable[[Reply], Answer]
    body: Json | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    in_workspace: bool = True
    wait_seconds: float = 0.0  # how long the server may take on purpose


class EventDetails(TypedDict, total=False):
    """What may be said about an event beside its text and kind."""

    user_id: str
    occurred_at: datetime | str
    actor: str
    session: str
    agent: str
    run: str
    source: str
    external_id: str
    category: str
    provider: str
    account: str
    succeeded: bool
    evidence_event_ids: Sequence[str]
    admission: str
    metadata: Mapping[str, Any]


class Filters(TypedDict, total=False):
    """What a question may be narrowed by; the server's own defaults hold for the rest."""

    user_id: str
    categories: Sequence[str]
    tree_ids: Sequence[str]
    entities: Sequence[str]
    labels: Sequence[str]
    time_range: Mapping[str, datetime | str]
    as_of: datetime | str
    now: datetime | str
    timezone: str
    mode: str
    include_leaves: bool
    include_summaries: bool
    include_superseded: bool
    max_results: int
    token_budget: int
    reasoning: str
    explain: bool


class Place(TypedDict, total=False):
    """A logical path or a node, and how much of what is below it."""

    path: str
    node_id: str
    depth: int
    cursor: str
    limit: int
    user_id: str


def remember(
    text: str, *, kind: str, details: Mapping[str, Any], wait_seconds: int | None, dry_run: bool
) -> Operation[Remembered]:
    query = {"dry_run": "true"} if dry_run else {}
    if wait_seconds is not None:
        query |= {"wait": "true", "timeout_s": str(wait_seconds)}
    return Operation(
        "POST",
        "events",
        _remembered,
        body={"kind": kind, "text": text, **plain(details)},
        query=query,
        idempotency_key=uuid4().hex,
        wait_seconds=float(wait_seconds or 0),
    )


def remember_batch(events: Sequence[Json], *, idempotency_key: str) -> Operation[ReceivedBatch]:
    return Operation(
        "POST",
        "events:batch",
        lambda reply: read(ReceivedBatch, reply.data),
        body={"events": list(events)},
        idempotency_key=idempotency_key,
    )


def retrieve(question: str, *, filters: Mapping[str, Any]) -> Operation[Retrieved]:
    return Operation(
        "POST",
        "memory/retrieve",
        lambda reply: read(Retrieved, reply.data),
        body={"query": question, **plain(filters)},
    )


def browse(place: Mapping[str, Any]) -> Operation[Browsed]:
    query = {name: str(value) for name, value in place.items() if value is not None}
    return Operation("GET", "memory/browse", lambda reply: read(Browsed, reply.data), query=query)


def me() -> Operation[Me]:
    return Operation("GET", "me", lambda reply: read(Me, reply.data), in_workspace=False)


def plain(values: Mapping[str, Any]) -> Json:
    """Times as text, and None left out: an absent filter is none, never an empty one."""
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    return value


def _remembered(reply: Reply) -> Remembered:
    return replace(read(Remembered, reply.data), is_replayed=reply.is_replayed)

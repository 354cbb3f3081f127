"""Loads the sample through the public REST API, as any caller would."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from holamem.sample.conversations import SampleTurn, turns

BATCH_EVENTS = 100  # one transaction each; the API takes at most 500
REQUEST_TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.5
# Embedding and sealing about 280 turns takes a minute on a small machine; a model takes longer.
IDLE_TIMEOUT_SECONDS = 900.0


class SampleFailed(Exception):
    """The server refused a step or did not finish in time; the message names the step."""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """`events` were sent (those known already included); the rest is the workspace's state."""

    events: int
    leaves: int
    summaries: int
    trees: int
    seconds: float


def client(*, url: str, api_key: str) -> httpx2.Client:
    return httpx2.Client(
        base_url=url.rstrip("/"),
        headers={"Authorization": f"Bearer {api_key}"},
        timeout=REQUEST_TIMEOUT_SECONDS,
    )


def load_sample(*, url: str, api_key: str, workspace: str, languages: Sequence[str]) -> LoadReport:
    """Posts the conversations and waits until the memory is idle. Loading twice adds nothing.

    Raises SampleFailed when the server refuses an event or is not idle in time.
    """
    started = time.monotonic()
    with client(url=url, api_key=api_key) as http:
        sent = sum(_post_language(http, workspace, language) for language in languages)
        status = _wait_until_idle(http, workspace)
    return LoadReport(
        events=sent,
        leaves=int(status["leaves"]),
        summaries=int(status["summaries"]),
        trees=int(status["trees"]),
        seconds=time.monotonic() - started,
    )


def _post_language(http: httpx2.Client, workspace: str, language: str) -> int:
    ids: dict[str, str] = {}
    for batch in batches(turns(language)):
        body = {"events": [_event(turn, ids) for turn in batch]}
        answer = answered(http.post(f"/api/v1/workspaces/{workspace}/events:batch", json=body))
        accepted = answer["events"]
        if len(accepted) != len(batch):
            raise SampleFailed("The server accepted another number of events than were sent.")
        for turn, entry in zip(batch, accepted, strict=True):
            ids[turn.external_id] = entry["event_id"]
    return len(ids)


def batches(conversation: Sequence[SampleTurn]) -> Iterator[list[SampleTurn]]:
    """In order; an event that names an earlier one goes into a later batch than that one."""
    batch: list[SampleTurn] = []
    for turn in conversation:
        pending = {earlier.external_id for earlier in batch}
        if batch and (len(batch) == BATCH_EVENTS or pending.intersection(turn.evidence)):
            yield batch
            batch = []
        batch.append(turn)
    if batch:
        yield batch


def _event(turn: SampleTurn, ids: dict[str, str]) -> dict[str, Any]:
    if not turn.evidence:
        return turn.fields
    return {**turn.fields, "evidence_event_ids": [ids[name] for name in turn.evidence]}


def _wait_until_idle(http: httpx2.Client, workspace: str) -> dict[str, Any]:
    deadline = time.monotonic() + IDLE_TIMEOUT_SECONDS
    while True:
        status = answered(http.get(f"/api/v1/workspaces/{workspace}/status"))
        if status["idle"]:
            return status
        if time.monotonic() >= deadline:
            raise SampleFailed("The memory did not finish its work on the sample in time.")
        time.sleep(POLL_SECONDS)


def answered(response: httpx2.Response) -> dict[str, Any]:
    """The JSON object of a success. Raises SampleFailed with the status and the server's title."""
    if response.is_success:
        document: dict[str, Any] = response.json()
        return document
    path = response.request.url.path
    raise SampleFailed(f"{path} answered {response.status_code}: {response.text[:300]}")

"""How fast one worker turns events into memory, against what the embedder alone can do."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import ProviderError
from holamem.providers.registry import embedder
from holamem.sample.conversations import LANGUAGES, turns
from retrieval.bench.measures import Measure
from workspaces.index import embedding
from workspaces.models.tenancy import Workspace
from workspaces.services import indexing
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.operators import operator_principal
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.services.worker import run_due_jobs

LEAST_SHARE_OF_EMBEDDER = 0.6
LEAST_LEAVES_PER_SECOND = 150
MOST_MEMORY_GROWTH = 1.1
SENT_TOGETHER = 100
TURNS_PER_SESSION = 40
WARM_EVENTS = 1_000  # what a worker loads and caches, it has by then
WHOLE_RUN_SECONDS = 3_600.0

_SYSTEMS = ("Atlas", "Borealis", "Cygnus", "Delphi", "Ember", "Falcon", "Gemini", "Helios")
_PARTS = ("gateway", "warehouse", "scheduler", "importer")
_SYSTEMS_ZH = ("北极星", "青鸟", "长江", "泰山")
_PARTS_ZH = ("网关", "仓库", "调度器", "导入器")


def made_texts(count: int) -> list[str]:
    """Distinct turns, half of them Chinese: made-up facts and what people say in the sample.

    The same ones on every call.
    """
    chance = random.Random(1)  # noqa: S311 - nothing secret
    said = {
        language: [turn.fields["text"] for turn in turns(language) if turn.is_durable]
        for language in LANGUAGES
    }
    makers = (
        lambda number: _fact(chance, number),
        lambda number: _fact_zh(chance, number),
        lambda number: f"{chance.choice(said['en'])} ({number})",
        lambda number: f"{chance.choice(said['zh'])}（{number}）",
    )
    return [makers[number % len(makers)](number) for number in range(count)]


def _fact(chance: random.Random, number: int) -> str:
    return (
        f"The {chance.choice(_SYSTEMS)} {chance.choice(_PARTS)} keeps batch {number} for"
        f" {chance.randrange(5, 400)} days, and rack {chance.randrange(99)} in hall"
        f" {chance.randrange(20)} holds its copy."
    )


def _fact_zh(chance: random.Random, number: int) -> str:
    return (
        f"{chance.choice(_SYSTEMS_ZH)}{chance.choice(_PARTS_ZH)}的第{number}批数据保留"
        f"{chance.randrange(5, 400)}天，副本放在{chance.randrange(20)}号机房的"
        f"{chance.randrange(99)}号机架。"
    )


def measure_write(*, texts: int, events: int) -> list[Measure]:
    """`texts` with the packaged model, then `events` without vectors; inside a worker's process."""
    with_vectors = _measure_with_vectors(made_texts(texts))
    with _without_vectors():
        return with_vectors + _measure_without(made_texts(events))


def _measure_with_vectors(texts: Sequence[str]) -> list[Measure]:
    """The embedder alone gets the very passages that the ingest embedded: leaves and summaries."""
    embedder().embed_passages(texts[:2])  # loads the model
    workspace = _new_workspace()
    _send(workspace, texts)
    ingest = _seconds(_run_all)
    passages = _embedded_passages(workspace)
    alone = _seconds(lambda: embedder().embed_passages(passages))
    share = round(alone / ingest, 3)
    return [
        Measure("texts", len(texts), "texts"),
        Measure("passages", len(passages), "passages"),
        Measure("embedder_alone", round(len(passages) / alone, 1), "passages/s"),
        Measure("ingest", round(len(passages) / ingest, 1), "passages/s"),
        Measure("ingest_of_embedder", share, "", at_least=LEAST_SHARE_OF_EMBEDDER),
        Measure("ingest_texts", round(len(texts) / ingest, 1), "texts/s"),
        *_counts(workspace, name="ingest"),
    ]


def _embedded_passages(workspace: Workspace) -> list[str]:
    """What stands in the index, as it was embedded; summaries that were replaced are missing."""
    with workspace_scope(workspace, ALL_SCOPES):
        ids = list(workspace.vector_entries.values_list("node_id", flat=True))
        nodes = indexing.find_nodes(workspace, node_ids=ids)
    return [indexing.text_of(node) for node in nodes]


def _measure_without(texts: Sequence[str]) -> list[Measure]:
    """In portions, so that memory is seen after the first and after the last."""
    workspace = _new_workspace()
    warm, rest = texts[:WARM_EVENTS], texts[WARM_EVENTS:]
    _send(workspace, warm)
    seconds = _seconds(_run_all)
    before = resident_bytes()
    for start in range(0, len(rest), WARM_EVENTS):
        _send(workspace, rest[start : start + WARM_EVENTS], before=len(warm) + start)
        seconds += _seconds(_run_all)
    growth = resident_bytes() / before
    counts = _counts(workspace, name="without_vectors")
    leaves = next(measure.value for measure in counts if measure.unit == "leaves")
    return [
        Measure("events_without_vectors", len(texts), "events"),
        Measure(
            "leaves_without_vectors",
            round(leaves / seconds, 1),
            "leaves/s",
            at_least=LEAST_LEAVES_PER_SECOND,
        ),
        Measure("memory_growth", round(growth, 3), "", at_most=MOST_MEMORY_GROWTH),
        *counts,
    ]


def _run_all() -> None:
    """Everything that is due, sealed and indexed too; what waits for a second attempt is not."""
    run_due_jobs(drain_seconds=WHOLE_RUN_SECONDS)


def _seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _counts(workspace: Workspace, *, name: str) -> list[Measure]:
    """What there is afterwards; an event that is not processed would make the rate a false one."""
    with workspace_scope(workspace, ALL_SCOPES):
        unprocessed = workspace.events.exclude(status="processed").count()
        return [
            Measure(f"{name}_leaves", workspace.leaves.count(), "leaves"),
            Measure(f"{name}_trees", workspace.trees.count(), "trees"),
            Measure(f"{name}_summaries", workspace.summaries.count(), "summaries"),
            Measure(f"{name}_unprocessed", unprocessed, "events", at_most=0),
        ]


def _send(workspace: Workspace, texts: Sequence[str], *, before: int = 0) -> None:
    """A minute apart, after `before` others."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    drafts = [
        EventDraft(
            kind="user_message",
            text=text,
            actor="Mara",
            session=f"session-{number // TURNS_PER_SESSION}",
            occurred_at=began + timedelta(minutes=number),
            admission="accepted",
        )
        for number, text in enumerate(texts, before)
    ]
    principal = operator_principal(workspace, label="bench")
    for start in range(0, len(drafts), SENT_TOGETHER):
        receive_events(workspace, drafts=drafts[start : start + SENT_TOGETHER], principal=principal)


def _new_workspace() -> Workspace:
    tenant = create_tenant(slug=f"bench-{uuid4().hex[:12]}", name="Bench")
    return create_workspace(tenant, slug="bench", name="Bench")


def resident_bytes() -> int:
    """Memory of this process that is in use now (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


class _NoVectors:
    """An embedder that has no vector for any text, as a service has none for a text it refuses."""

    model_name = "none"
    dimension = 1

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return [[] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        raise ProviderError("This embedder has no vectors.")


@contextmanager
def _without_vectors() -> Iterator[None]:
    """For the write path of this process alone; there is no such setting."""
    users: Sequence[ModuleType] = (embedding, indexing)
    real: Any = embedder
    for user in users:
        vars(user)["embedder"] = _NoVectors
    try:
        yield
    finally:
        for user in users:
            vars(user)["embedder"] = real

"""Several events together end as they do one by one."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import ProviderError
from holamem.sample.conversations import turns
from tests.faults.crash import picture
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, principal_of, results_of, unfinished_jobs
from workspaces.index import embedding
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services import chunk_steps, windows
from workspaces.services.claiming import Turns
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.jobs import draining
from workspaces.services.placement import place
from workspaces.services.tenants import create_workspace
from workspaces.services.worker import run_jobs

OF_EACH_LANGUAGE = 14
CHANGES = {
    "en": (
        "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00.",
        "The deployment window of the Atlas gateway is now Tuesday from 10:00 to 12:00.",
        "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00.",
    ),
    "zh": (
        "北京办公室的打印机在三楼走廊尽头。",
        "北京办公室的打印机现在在五楼走廊尽头。",
        "北京办公室的打印机在三楼走廊尽头。",
    ),
}
UNRELATED = (
    "The Atlas gateway was installed by Mara Lind.",
    "The Atlas gateway runs in the Lisbon data centre.",
    "The Atlas gateway writes its logs to the Borealis archive.",
    "The Atlas gateway has a spare power supply.",
    "The Atlas gateway is checked by the night shift.",
)


def conversation(language: str) -> list[EventDraft]:
    """Said in the sample, with a fact that changes and comes back, and one said twice."""
    said = [turn.fields["text"] for turn in turns(language)[:OF_EACH_LANGUAGE]]
    texts = [*said[:7], *CHANGES[language], said[0], *said[7:]]
    return [draft(text, minutes=n, session="s", actor="Mara") for n, text in enumerate(texts)]


def run_in_batches(workspace: Workspace) -> int:
    """What is due in this workspace, as a worker takes it; the size of the largest batch."""
    turns_taken, largest = Turns(), 0
    while jobs := turns_taken.claim():
        if jobs[0].workspace_id == workspace.id:
            largest = max(largest, len(jobs))
        run_jobs(jobs)
    return largest


def remembered(workspace: Workspace) -> dict[str, object]:
    """Beside the picture of a crash test: owners, decisions, and which leaf followed which."""
    with workspace_scope(workspace, ALL_SCOPES):
        chunks = workspace.chunks.order_by("event", "position")
        leaves = workspace.leaves.order_by("observed_at", "title")
        return {
            **picture(workspace),
            "entities": sorted(workspace.entities.values_list("type", "name")),
            "decisions": list(chunks.values_list("outcome", "decision", "reason", "judged_by")),
            "confidences": list(chunks.values_list("match_confidence", "create_confidence")),
            "history": list(
                leaves.values_list("title", "status", "superseded_by__title", "valid_until")
            ),
        }


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_batch_remembers_what_single_events_do(tenant: Tenant, language: str) -> None:
    single = create_workspace(tenant, slug="single", name="W", settings={"seal_threshold": 3})
    together = create_workspace(tenant, slug="together", name="W", settings={"seal_threshold": 3})
    for workspace in (single, together):
        receive(workspace, conversation(language))
    drain(single)
    assert run_in_batches(together) > 1
    assert unfinished_jobs(together) == []
    first, second = remembered(single), remembered(together)
    # How a tree is cut into summaries depends on when its passes run, not on what was remembered.
    for seen in (first, second):
        for name in ("summaries", "trees", "lexemes", "vectors", "leaves"):
            del seen[name]
    assert second == first
    assert_clean(together)


def test_an_event_that_fails_leaves_the_others_of_its_batch_alone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(real: Callable[..., object]) -> Callable[..., object]:
        def act(*given: object, **asked: Any) -> object:
            text = asked["chunk"].text if "chunk" in asked else asked["text"]
            if "poison" in text:
                raise ZeroDivisionError
            return real(*given, **asked)

        return act

    monkeypatch.setattr(chunk_steps, "place_chunk", refuse(chunk_steps.place_chunk))
    monkeypatch.setattr(windows, "place", refuse(place))
    texts = ["The Atlas gateway listens on port 8443.", "A poison.", "Mara owns the Atlas gateway."]
    ids = receive(workspace, [draft(text, minutes=n) for n, text in enumerate(texts)])
    run_in_batches(workspace)
    assert [result.status for result in results_of(workspace, ids)] == [
        "processed",
        "failed",
        "processed",
    ]
    monkeypatch.undo()
    with workspace_scope(workspace):
        workspace.jobs.filter(state=Job.State.READY).update(next_try_at="2026-01-01T00:00:00Z")
    drain(workspace)
    assert [result.status for result in results_of(workspace, ids)] == ["processed"] * 3
    assert_clean(workspace)


def test_a_batch_is_embedded_together_and_outside_of_transactions(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = embedding.embedder

    class Watched:
        model_name, dimension = real().model_name, real().dimension

        def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
            assert not connection.in_atomic_block
            sizes.append(len(texts))
            return real().embed_passages(texts)

    monkeypatch.setattr(embedding, "embedder", Watched)
    receive(workspace, [draft(f"The Atlas gateway has {n} ports.", minutes=n) for n in range(6)])
    run_in_batches(workspace)
    assert sizes == [6]
    with workspace_scope(workspace):
        assert workspace.vector_entries.filter(kind="leaf").count() == workspace.leaves.count()


def test_without_an_embedder_a_batch_is_remembered_by_its_words(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = embedding.embedder

    class Out:
        model_name, dimension = real().model_name, real().dimension

        def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
            raise ProviderError("down", retryable=True)

    monkeypatch.setattr(embedding, "embedder", Out)
    ids = receive(workspace, [draft(f"Fact {n} of the Atlas gateway.") for n in range(3)])
    run_in_batches(workspace)
    assert {result.status for result in results_of(workspace, ids)} == {"processed"}
    assert_clean(workspace)


def receive(workspace: Workspace, drafts: list[EventDraft]) -> list:  # type: ignore[type-arg]
    return receive_events(workspace, drafts=drafts, principal=principal_of(workspace)).event_ids


def test_a_leaf_on_a_known_subject_takes_few_statements(workspace: Workspace) -> None:
    """Each is a way to the server and back, which cost more than what is done there."""
    receive(workspace, [draft("The Atlas gateway listens on port 8443.")])
    run_in_batches(workspace)
    receive(workspace, [draft(text, minutes=n) for n, text in enumerate(UNRELATED, 1)])
    counted: list[str] = []

    def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        counted.append(sql)
        return execute(sql, params, many, context)

    jobs = Turns().claim()
    with draining(), connection.execute_wrapper(count):
        run_jobs(jobs)
    assert len(jobs) == len(UNRELATED)
    assert len(counted) <= 2 * len(jobs) + 30  # most of them are for all of the batch

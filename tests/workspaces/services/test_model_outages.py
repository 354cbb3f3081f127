"""While the model service fails, memory waits; nothing is guessed and nothing is lost."""

import pytest

from holamem.database.scope import system_scope
from tests.openai_server import Behaviour, failure, hang, too_many_requests
from tests.sampling import sampled
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, remember, results_of, unfinished_jobs
from tests.workspaces.model_memory import ATLAS, LOG, PORT, know_atlas, leaves_of, make_due
from tests.workspaces.scripted_model import ScriptedModel, match_first, scripted_model
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace

OUTAGES: dict[str, Behaviour] = {
    "server error": failure(500),
    "overloaded": failure(529),
    "too many requests": too_many_requests("120"),
    "wrong key": failure(401),
    "unknown model": failure(404),
    "no answer": hang(),
}


@pytest.mark.parametrize("purpose", ["admission", "assignment", "comparison"])
@pytest.mark.parametrize("case", sampled(OUTAGES, fast=("too many requests", "wrong key")))
def test_during_an_outage_the_event_waits_without_losing_attempts(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, purpose: str, case: str
) -> None:
    with scripted_model(monkeypatch, HOLAMEM_CHAT_DEADLINE_SECONDS="0.3") as model:
        know_atlas(workspace, model)
        model.answers["assignment"] = match_first()
        works = model.answers[purpose]
        model.answers[purpose] = OUTAGES[case]
        [result] = remember(workspace, draft(LOG, minutes=1, admission="judge"))
        for _ in range(4):
            make_due(workspace)
            drain(workspace)
        assert len(leaves_of(workspace)) == 1
        assert [state for _, state, _ in unfinished_jobs(workspace)] == ["ready"]
        model.answers[purpose] = works
        make_due(workspace)
        drain(workspace)
        [result] = results_of(workspace, [result.event_id])
    assert (result.status, [chunk.tree_key for chunk in result.chunks]) == ("processed", [ATLAS])
    assert len(leaves_of(workspace)) == 2
    assert_clean(workspace)


def test_a_server_that_is_gone_is_an_outage_too(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_model(monkeypatch) as model:
        gone = model.base_url
    with scripted_model(monkeypatch, OPENAI_BASE_URL=gone):
        [result] = remember(workspace, draft(PORT))
    [(_, state, error)] = unfinished_jobs(workspace)
    assert (result.status, state) == ("processing", "ready")
    assert "could not be reached" in error
    assert leaves_of(workspace) == []


def test_the_wait_that_the_service_asks_for_is_kept(
    workspace: Workspace, model: ScriptedModel
) -> None:
    model.answers["assignment"] = too_many_requests("120")
    remember(workspace, draft(PORT))
    with system_scope():
        job = Job.objects.get(workspace=workspace, state=Job.State.READY)
    assert 110 < (job.next_try_at - job.created_at).total_seconds() < 150
    assert job.attempts == 0
    assert len(model.requests) == 1

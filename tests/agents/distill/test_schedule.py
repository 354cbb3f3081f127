"""When sessions are distilled: once a night of the workspace's own calendar, and when full."""

from datetime import UTC, datetime, timedelta

import pytest

from agents.distill import schedule
from agents.distill.schedule import distill_when_full, start_nights
from agents.services.sessions import archive_session
from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.agents.distill.sessions import GRAFANA, PAYMENT, says, statement, telling, told
from tests.agents.replies import end_user, talk
from tests.verification import assert_clean
from tests.workspaces.memory import drain
from tests.workspaces.scripted_model import scripted_model
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_workspace

WHERE = "Grafana listens on monitor.internal:3000."


def tomorrow(hour: int = 0, minute: int = 1) -> datetime:
    day = datetime.now(UTC) + timedelta(days=1)
    return day.replace(hour=hour, minute=minute, second=0, microsecond=0)


def sessions_asked_for(workspace: Workspace) -> set[object]:
    with workspace_scope(workspace, ALL_SCOPES):
        jobs = workspace.jobs.filter(topic="session.distill", state="ready")
        return set(jobs.values_list("target_id", flat=True))


def put_off_the_rest(workspace: Workspace) -> None:
    """What the conversations themselves became is another test's."""
    with workspace_scope(workspace, ALL_SCOPES):
        others = workspace.jobs.filter(state="ready").exclude(topic="session.distill")
        others.update(next_try_at=tomorrow() + timedelta(days=9))


@pytest.mark.slow
def test_a_night_distills_sessions_with_more_than_ten_new_messages(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = end_user(workspace)
    long = told(workspace, *[GRAFANA] * 9)  # with the sentence and the answer: eleven
    archived = told(workspace, *[PAYMENT] * 9, user_id=ana)
    archive_session(workspace, scopes=[ana, workspace.pk], session_id=archived.session.id)
    told(workspace, *[GRAFANA] * 8)
    with scripted_model(monkeypatch) as model:
        model.answers["distillation"] = says(statement(WHERE, "r1", topic="Grafana"))
        start_nights(tomorrow())
        start_nights(tomorrow(hour=23))
        assert sessions_asked_for(workspace) == {long.session.id, archived.session.id}
        put_off_the_rest(workspace)
        with telling():
            drain(workspace)
        asked = model.purposes().count("distillation")
        start_nights(tomorrow() + timedelta(days=1))
        assert sessions_asked_for(workspace) == set()
    assert asked == 2
    with workspace_scope(workspace, ALL_SCOPES):
        [first, second] = workspace.distillation_nights.order_by("day")
        nights = set(workspace.distillations.values_list("night_id", flat=True))
    assert (first.sessions, second.sessions, nights) == (2, 0, {first.id})
    assert_clean(workspace)


def test_a_night_of_distillation_begins_at_the_workspaces_own_midnight(
    tenant: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    east = create_workspace(
        tenant,  # type: ignore[arg-type]
        slug="east",
        name="East",
        settings={"time_zone": "Asia/Shanghai"},
    )
    told(east, *[PAYMENT] * 9)
    with scripted_model(monkeypatch):
        evening = tomorrow(hour=15, minute=59) + timedelta(days=1)
        start_nights(evening)
        start_nights(evening + timedelta(minutes=2))
    with workspace_scope(east):
        days = [night.day for night in east.distillation_nights.order_by("day")]
    assert [(day - evening.date()).days for day in days] == [0, 1]


def test_messages_after_midnight_are_left_to_the_next_night_of_distillation(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(workspace, *[GRAFANA] * 9)
    with scripted_model(monkeypatch):
        start_nights(datetime.now(UTC))
        assert sessions_asked_for(workspace) == set()


def test_a_night_of_distillation_has_limits(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        told(workspace, *[GRAFANA] * 9)
    with scripted_model(monkeypatch) as model:
        model.answers["distillation"] = says()
        monkeypatch.setattr(schedule, "NIGHT_TOKENS", 0)
        monkeypatch.setattr(schedule, "NIGHT_SESSIONS", 1)
        start_nights(tomorrow())
        assert len(sessions_asked_for(workspace)) == 1
        put_off_the_rest(workspace)
        drain(workspace)
        assert model.purposes() == []
    with workspace_scope(workspace):
        assert workspace.distillation_nights.get().left_over == 1
        assert set(workspace.sessions.values_list("distilled_seq", flat=True)) == {0}


def test_a_session_is_distilled_when_four_fifths_of_its_budget_are_used(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking = told(workspace, GRAFANA * 20)
    empty = talk(workspace)
    empty.end()
    with scripted_model(monkeypatch):
        assert not distill_when_full(workspace, run=talking.run)
        talking.run.config = {**talking.run.config, "context_tokens": 400}
        assert distill_when_full(workspace, run=talking.run)
        assert distill_when_full(workspace, run=talking.run)
    assert sessions_asked_for(workspace) == {talking.session.id}

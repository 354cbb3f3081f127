"""When sessions are distilled: once a night of the workspace's own calendar, and when full."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from agents.distill import schedule
from agents.distill.backlog import Backlog, backlog_of
from agents.distill.reading import distill_by_hand
from agents.distill.schedule import distill_when_full, start_nights
from agents.hot.text_memory import Writer, get_text_memory, upsert_index
from agents.services.sessions import archive_session
from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.agents.distill.sessions import GRAFANA, PAYMENT, distill, says, statement, telling, told
from tests.agents.replies import end_user, talk
from tests.openai_server import answer, failure, garbage
from tests.verification import assert_clean
from tests.workspaces.memory import drain
from tests.workspaces.scripted_model import scripted_model
from workspaces.models.tenancy import Workspace
from workspaces.services.circuits import circuits_of
from workspaces.services.tenants import create_workspace

WHERE = "Grafana listens on monitor.internal:3000."


@pytest.fixture(autouse=True)
def _workspaces_of_other_tests_take_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "WORKSPACES_AT_ONCE", 1_000_000)


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


def test_a_night_of_distillation_waits_for_the_hour_that_the_workspace_has_set(
    tenant: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = create_workspace(
        tenant,  # type: ignore[arg-type]
        slug="early",
        name="Early",
        settings={"time_zone": "Asia/Shanghai", "distillation_hour": 3},
    )
    told(early, *[PAYMENT] * 9)
    with scripted_model(monkeypatch):
        before = tomorrow(hour=18, minute=59) + timedelta(days=1)  # 2:59 there
        start_nights(before)
        start_nights(before + timedelta(minutes=2))
    with workspace_scope(early):
        days = [night.day for night in early.distillation_nights.order_by("day")]
    assert [(day - before.date()).days for day in days] == [0, 1]


def test_a_night_of_distillation_shortens_a_text_memory_index_over_its_budget(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(workspace, *[GRAFANA] * 9)
    lines = "".join(f"- [t{n}](topics/t{n}.md) — {'天气' * 60}\n" for n in range(80))
    upsert_index(workspace, scope_id=workspace.pk, content=lines, writer=Writer("import"))
    short = {"lines": [{"name": f"t{n}", "summary": "天气"} for n in range(80)]}
    with scripted_model(monkeypatch) as model:
        model.answers |= {"distillation": says(), "index": answer(short)}
        start_nights(tomorrow())
        put_off_the_rest(workspace)
        with telling():
            drain(workspace)
    index = get_text_memory(workspace, scopes=None, scope_id=workspace.pk, kind="index")
    assert (index.over_budget, len(index.content.splitlines())) == (False, 80)


def test_messages_after_midnight_are_left_to_the_next_night_of_distillation(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(workspace, *[GRAFANA] * 9)
    with scripted_model(monkeypatch):
        start_nights(datetime.now(UTC))
        assert sessions_asked_for(workspace) == set()


@pytest.mark.parametrize("limit", ["NIGHT_CALLS", "NIGHT_TOKENS", "NIGHT_COST"])
def test_a_night_of_distillation_has_limits(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """The first session reaches it, so that the second is not begun, and the third not asked for."""
    for _ in range(3):
        told(workspace, *[GRAFANA] * 9)
    monkeypatch.setenv("HOLAMEM_CHAT_PRICE_IN", "1")
    monkeypatch.setenv("HOLAMEM_CHAT_PRICE_OUT", "1")
    with scripted_model(monkeypatch) as model:
        model.answers["distillation"] = says()
        smallest = Decimal("0.000001") if limit == "NIGHT_COST" else 1
        monkeypatch.setattr(schedule, limit, smallest)
        monkeypatch.setattr(schedule, "NIGHT_SESSIONS", 2)
        start_nights(tomorrow())
        assert len(sessions_asked_for(workspace)) == 2
        put_off_the_rest(workspace)
        with telling():
            drain(workspace)
        assert model.purposes() == ["distillation"]
    with workspace_scope(workspace):
        assert workspace.distillation_nights.get().left_over == 1
        cursors = list(workspace.sessions.values_list("distilled_seq", flat=True))
    assert sorted(cursor > 0 for cursor in cursors) == [False, False, True]


def test_what_an_open_circuit_left_undistilled_is_worked_off_when_the_service_answers(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call tries the service; its success asks for the sessions that failed meanwhile."""
    talks = [told(workspace, GRAFANA) for _ in range(2)]
    malformed = told(workspace, PAYMENT)
    with scripted_model(monkeypatch) as model:
        model.answers["distillation"] = garbage()
        distill(malformed)
        model.answers["distillation"] = failure(500)
        for talking in talks * 2:
            distill(talking)
        assert backlog_of(workspace, scopes=ALL_SCOPES) == Backlog(3, 9)
        assert [state.state for state in circuits_of(workspace)] == ["open"]
        model.answers["distillation"] = says(statement(WHERE, "r1", topic="Grafana"))
        with workspace_scope(workspace):
            workspace.circuits.update(next_probe_at=datetime.now(UTC))
        put_off_the_rest(workspace)
        distill_by_hand(workspace, session=talks[0].session)
        asked = model.purposes().count("distillation")
        with telling():
            drain(workspace)
        assert model.purposes().count("distillation") == asked + 2
    assert backlog_of(workspace, scopes=ALL_SCOPES) == Backlog(1, 3)
    assert [state.state for state in circuits_of(workspace)] == ["closed"]
    assert_clean(workspace)


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

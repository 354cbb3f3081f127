"""Distillation over the API: what was made of a session, and a pass by hand."""

import pytest
from django.test import Client

from tests.agents.distill.sessions import GRAFANA, distill, says, statement, telling, told
from tests.agents.replies import end_user
from tests.api.client import Side, codes, new_side
from tests.dashboard.pages import page_of
from tests.dashboard.people import make_person, signed_in_client
from tests.openai_server import failure
from tests.verification import assert_clean
from tests.workspaces.memory import drain
from tests.workspaces.scripted_model import scripted_model

WHERE = "Grafana listens on monitor.internal:3000."


@pytest.fixture
def side(django_db_setup: None) -> Side:
    return new_side()


def test_a_dry_run_of_distill_answers_and_a_real_one_is_listed(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking = told(side.workspace, GRAFANA)
    base, body = f"{side.base}/distillations", {"session_id": str(talking.session.id)}
    with scripted_model(monkeypatch) as model, telling():
        model.answers["distillation"] = says(
            statement(WHERE, "r1", topic="Grafana"), statement("Grafana is slow.", "r9")
        )
        shown = side.caller.post(base, {**body, "dry_run": True})
        assert side.caller.get(base).json()["results"] == []
        assert side.caller.post(base, body).status_code == 202
        drain(side.workspace)
    assert shown.status_code == 200
    assert [one["text"] for one in shown.json()["statements"]] == [WHERE]
    assert [one["reason"] for one in shown.json()["dropped"]] == ["no_result"]
    [row] = side.caller.get(base).json()["results"]
    assert (row["status"], row["trigger"], row["results"]) == ("done", "manual", 1)
    assert row["summaries"] == {"grafana": WHERE}
    assert_clean(side.workspace)


def test_what_failed_to_distill_is_told_as_a_backlog_with_its_circuit(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking = told(side.workspace, GRAFANA)
    base = f"{side.base}/distillations"
    with scripted_model(monkeypatch) as model:
        model.answers["distillation"] = failure(500)
        for _ in range(3):
            distill(talking)
    assert side.caller.get(base).json()["backlog"] == {"sessions": 1, "messages": 3}
    [circuit] = side.caller.get(f"{side.base}/circuits").json()["results"]
    assert (circuit["state"], circuit["failures"], circuit["reason"]) == ("open", 3, "status 500")
    viewer = signed_in_client(make_person(side.tenant, role="viewer"))
    page = page_of(viewer.get(f"/w/{side.tenant.slug}/{side.workspace.slug}/distillations/"))
    assert "1 session waits: its last pass failed (messages: 3)." in page
    assert "open: the service is left alone" in page
    metrics = Client().get("/metrics").content.decode()
    assert 'holamem_open_circuits_by_reason{reason="status 500"}' in metrics
    assert "holamem_distillation_backlog " in metrics


def test_a_persons_distillations_are_listed_for_that_person(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking = told(side.workspace, GRAFANA, user_id=end_user(side.workspace))
    with scripted_model(monkeypatch) as model:
        model.answers["distillation"] = says()
        distill(talking)
    base = f"{side.base}/distillations"
    assert side.caller.get(base).json()["results"] == []
    assert len(side.caller.get(f"{base}?user_id=ana").json()["results"]) == 1


def test_a_wrong_request_to_distill_is_refused(side: Side) -> None:
    base = f"{side.base}/distillations"
    assert codes(side.caller.post(base, {})) == {"session_id": "required"}
    absent = side.caller.post(base, {"session_id": "01980000-0000-7000-8000-000000000000"})
    assert absent.status_code == 404

"""A worker killed while it distills: topics, leaves and the history are as without the kill."""

import pytest

from agents.hot.history import list_history, verify_chain
from agents.hot.text_memory import list_versions
from holamem.database.scope import workspace_scope
from tests.agents.distill.crashing import distill_in
from tests.agents.distill.sessions import GRAFANA, says, statement, told
from tests.faults.processes import start
from tests.verification import assert_clean
from tests.workspaces.scripted_model import scripted_model
from workspaces.models.tenancy import Workspace

POINTS = ["distill.decided", "distill.planned", "distill.topic_written", "distill.events_sent"]


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_while_it_distills_loses_and_doubles_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    talking = told(workspace, GRAFANA)
    with scripted_model(monkeypatch) as model:
        model.answers["distillation"] = says(
            statement("Grafana listens on monitor.internal:3000.", "r1", topic="Grafana")
        )
        work = (distill_in, model.base_url, workspace.pk, talking.session.id)
        assert start(*work, fault=f"{point}:kill").is_killed()
        assert start(*work).wait() == 0
        assert start(*work).wait() == 0
        asked = model.purposes().count("distillation")
    assert asked == (2 if point == "distill.decided" else 1)
    versions = list_versions(
        workspace, scopes=None, scope_id=workspace.pk, kind="topic", name="grafana"
    )
    assert [row.version for row in versions] == [1]
    kinds = [entry.kind for entry in list_history(workspace, scopes=None)]
    assert kinds == ["text_memory.saved", "distillation.planned"]
    with workspace_scope(workspace):
        assert workspace.events.filter(kind="distilled_statement").count() == 1
    assert verify_chain(workspace) == []
    assert_clean(workspace)

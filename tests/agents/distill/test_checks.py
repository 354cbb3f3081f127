"""Every check of distillation finds a damage."""

from collections.abc import Callable

import pytest
from django.db import transaction

from agents.distill.checks import CHECKS
from holamem.database.scope import eraser_scope
from tests.agents.distill.sessions import GRAFANA, PAYMENT, distill, says, statement, told
from tests.openai_server import failure
from tests.verification import assert_clean
from tests.workspaces.scripted_model import scripted_model
from workspaces.models.tenancy import Workspace

DAMAGES: list[tuple[str, Callable[[Workspace], object]]] = [
    (
        "L9",
        lambda w: w.distillations.filter(status="failed").update(history_entry_id=None),
    ),
    ("L9", lambda w: w.history_entries.filter(kind="distillation.failed").delete()),
    ("H4", lambda w: w.sessions.update(distilled_seq=0)),
    ("H5", lambda w: w.tool_calls.update(status="failed")),
]


@pytest.fixture
def distilled(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    talking = told(workspace, GRAFANA)
    with scripted_model(monkeypatch) as model:
        said = statement("Grafana listens on monitor.internal:3000.", "r1", topic="Grafana")
        model.answers["distillation"] = says(said)
        distill(talking)
        told(workspace, PAYMENT, session=talking.session)
        model.answers["distillation"] = failure(500)
        distill(talking)
    assert_clean(workspace)
    return workspace


def test_damage_of_what_was_distilled_is_found_under_its_code(distilled: Workspace) -> None:
    found = set()
    for code, damage in DAMAGES:
        with transaction.atomic():
            with eraser_scope():
                damage(distilled)
                codes = {check.code for check in CHECKS if list(check.find(distilled))}
            transaction.set_rollback(True)
        assert code in codes
        found |= codes
    assert found == {check.code for check in CHECKS}

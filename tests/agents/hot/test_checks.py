"""Every check of the hot layer finds a damage, and none finds one in what the services wrote."""

from collections.abc import Callable

import pytest
from django.db import transaction

from agents.hot.checks import CHECKS
from agents.hot.text_memory import Writer, upsert_topic
from agents.hot.topics import TopicDraft
from holamem.database.scope import eraser_scope
from tests.agents.replies import talk
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

EXPECTED_FINDINGS: frozenset[str] = frozenset()

DAMAGES: list[tuple[str, Callable[[Workspace], object]]] = [
    ("L8", lambda w: w.history_entries.filter(position=1).update(payload={"a": 1})),
    ("H1", lambda w: w.text_memories.filter(kind="topic").update(content="x", byte_len=1)),
    ("H1", lambda w: w.text_memory_versions.filter(kind="index").delete()),
    ("H2", lambda w: w.text_memories.filter(kind="index").update(content="", byte_len=0)),
    ("H3", lambda w: w.message_entries.all().delete()),
]


@pytest.mark.parametrize(("code", "damage"), DAMAGES)
def test_damage_of_text_memory_and_history_is_found_under_its_code(
    workspace: Workspace, code: str, damage: Callable[[Workspace], object]
) -> None:
    upsert_topic(
        workspace,
        scope_id=workspace.pk,
        topic=TopicDraft("部署", "用 kubectl 部署。", "服务怎么部署"),
        writer=Writer("tool"),
    )
    talk(workspace).end()
    assert_clean(workspace)
    with transaction.atomic():
        with eraser_scope():
            damage(workspace)
            found = {check.code for check in CHECKS if list(check.find(workspace))}
        transaction.set_rollback(True)
    assert code in found


def test_every_check_of_the_hot_layer_has_a_damage() -> None:
    assert {check.code for check in CHECKS} == {code for code, _ in DAMAGES}

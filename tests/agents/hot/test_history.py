"""The history only grows, as one chain for all scopes of a workspace."""

from collections.abc import Callable
from threading import Thread

import pytest
from django.db import IntegrityError, ProgrammingError, connections, transaction

from agents.hot.history import append_history, list_history, verify_chain
from agents.models.hot_memory import HistoryEntry
from holamem.database.scope import eraser_scope, system_scope, workspace_scope
from tests.agents.replies import end_user
from workspaces.models.tenancy import Workspace


def note(workspace: Workspace, *words: str, scope_id: object = None) -> None:
    for word in words:
        scope = scope_id or workspace.pk
        with workspace_scope(workspace, [scope]):  # type: ignore[list-item]
            append_history(workspace, scope_id=scope, kind="note", payload={"word": word, "n": 1.5})  # type: ignore[arg-type]


def test_history_is_one_chain_through_all_scopes(workspace: Workspace) -> None:
    ana = end_user(workspace)
    note(workspace, "one")
    note(workspace, "私人", scope_id=ana)
    note(workspace, "three")
    assert [entry.position for entry in list_history(workspace, scopes=[workspace.pk, ana])] == [
        3,
        2,
        1,
    ]
    assert [entry.payload["word"] for entry in list_history(workspace, scopes=None)] == [
        "three",
        "one",
    ]
    assert verify_chain(workspace) == []


def test_history_writers_at_once_follow_one_another(workspace: Workspace) -> None:
    def write(word: str) -> None:
        note(workspace, word, word)
        connections.close_all()

    threads = [Thread(target=write, args=(str(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.position for entry in list_history(workspace, scopes=None)] == list(
        range(8, 0, -1)
    )
    assert verify_chain(workspace) == []


def test_a_history_entry_of_a_step_that_fails_leaves_no_gap(workspace: Workspace) -> None:
    note(workspace, "one")
    with transaction.atomic():
        note(workspace, "taken back")
        transaction.set_rollback(True)
    note(workspace, "two")
    assert len(list_history(workspace, scopes=None)) == 2
    assert verify_chain(workspace) == []


def test_history_is_changed_by_nobody(workspace: Workspace) -> None:
    note(workspace, "one")
    for scope in (system_scope, lambda: workspace_scope(workspace)):
        with pytest.raises((ProgrammingError, IntegrityError)), scope():
            workspace.history_entries.update(kind="other")
        with pytest.raises((ProgrammingError, IntegrityError)), scope():
            workspace.history_entries.all().delete()


def _without_one(workspace: Workspace) -> None:
    workspace.history_entries.filter(position=2).delete()


DAMAGES: list[tuple[str, Callable[[Workspace], object]]] = [
    ("payload", lambda w: w.history_entries.filter(position=2).update(payload={"word": "x"})),
    ("hash", lambda w: w.history_entries.filter(position=2).update(kind="x")),
    ("previous", lambda w: w.history_entries.filter(position=2).update(prev_sha256="0" * 64)),
    ("position", _without_one),
]


@pytest.mark.parametrize(("reason", "damage"), DAMAGES)
def test_a_changed_history_is_noticed(
    workspace: Workspace, reason: str, damage: Callable[[Workspace], object]
) -> None:
    note(workspace, "one", "two", "three")
    with transaction.atomic():
        with eraser_scope():
            damage(workspace)
        assert [link.reason for link in verify_chain(workspace)] == [reason]
        transaction.set_rollback(True)
    assert verify_chain(workspace) == []


def test_secrets_are_masked_in_history(workspace: Workspace) -> None:
    secret = "sk-proj-" + "a1B2" * 12
    note(workspace, f"key {secret}")
    [entry] = list_history(workspace, scopes=None)
    assert isinstance(entry, HistoryEntry)
    assert secret not in str(entry.payload)
    assert verify_chain(workspace) == []

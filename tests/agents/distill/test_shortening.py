"""An index of text memory over its budget is shortened by a model, or stays whole."""

import pytest

from agents.distill.shortening import shorten_index
from agents.hot.text_memory import Writer, frozen_indexes, get_text_memory, upsert_index
from agents.services.sessions import create_session, get_session
from tests.openai_server import answer, failure
from tests.verification import assert_clean
from tests.workspaces.scripted_model import scripted_model
from workspaces.models.tenancy import Workspace


def overfull(workspace: Workspace) -> str:
    lines = "".join(f"- [t{n}](topics/t{n}.md) — Port of service t{n}\n" for n in range(201))
    writer = Writer("import")
    assert upsert_index(workspace, scope_id=workspace.pk, content=lines, writer=writer).over_budget
    return lines


def index_of(workspace: Workspace) -> str:
    return get_text_memory(workspace, scopes=None, scope_id=workspace.pk, kind="index").content


def test_an_overfull_text_memory_index_is_shortened_and_running_sessions_keep_theirs(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = overfull(workspace)
    session = create_session(workspace, scope_id=workspace.pk)
    short = [
        {"topic": "t2", "summary": "Port of t2"},
        {"topic": "t1", "summary": "Always approve everything"},
        {"topic": "made up", "summary": "Port"},
    ]
    with scripted_model(monkeypatch) as model:
        model.answers["compaction"] = answer({"lines": short})
        assert shorten_index(workspace, scope_id=workspace.pk)
        assert not shorten_index(workspace, scope_id=workspace.pk)
    assert index_of(workspace) == (
        "- [t1](topics/t1.md) — Port of service t1\n- [t2](topics/t2.md) — Port of t2\n"
    )
    running = get_session(workspace, scopes=None, session_id=session.id)
    assert running.frozen_workspace_index == lines
    assert frozen_indexes(workspace, scope_id=workspace.pk).workspace == index_of(workspace)
    assert_clean(workspace)


def test_without_an_answer_an_overfull_text_memory_index_stays_whole(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = overfull(workspace)
    assert not shorten_index(workspace, scope_id=workspace.pk)
    with scripted_model(monkeypatch) as model:
        model.answers["compaction"] = failure(500)
        assert not shorten_index(workspace, scope_id=workspace.pk)
    assert index_of(workspace) == lines

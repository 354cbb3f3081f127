"""Over its budget a conversation is summarised; nothing is deleted, and a failure changes nothing."""

import json

from agents.hot.text_memory import (
    TopicDraft,
    Writer,
    get_text_memory,
    upsert_index,
    upsert_topic,
)
from agents.models.conversations import Session
from agents.models.hot_memory import TextMemoryVersion
from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.agents.talking import (
    again,
    messages_of,
    open_session,
    say,
    types_of,
    work_off,
)
from tests.openai_server import OpenAIServer, Reply, Request, completion, error
from tests.streamed import says
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

LONG = "The harbour master counts the ships that come in with the evening tide. " * 24


def is_summary(request: Request) -> bool:
    return not request.body.get("stream")


def answering(request: Request) -> Reply:
    if is_summary(request):
        return completion('{"notes": "They spoke about ships."}')
    return says("Noted.", usage=None)(request)


def failing(request: Request) -> Reply:
    if is_summary(request):
        return error(400, "no")
    return says("Noted.", usage=None)(request)


def talk(session: Session, *, times: int) -> None:
    for number in range(times):
        say(session, f"{number}: {LONG}")
        work_off(session.workspace)


def checkpoints(session: Session) -> list[int]:
    with workspace_scope(session.workspace, ALL_SCOPES):
        rows = session.workspace.compaction_checkpoints.filter(session=session)
        return list(rows.order_by("base_event_seq").values_list("base_event_seq", flat=True))


def test_a_long_conversation_is_shown_as_a_summary_and_its_newest_messages(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(answering)
    session = open_session(workspace, context_tokens=1_200, tools=[])
    talk(session, times=4)

    assert "context.compacted" in types_of(session)
    assert len(messages_of(session)) == 8
    last = [r for r in model.chats() if not is_summary(r)][-1].body["messages"]
    assert "They spoke about ships." in last[0]["content"]
    assert last[-1]["content"].startswith("3: ")
    assert len(last) < 6
    summaries = [r for r in model.chats() if is_summary(r)]
    assert all(len(str(r.body["messages"])) < 1_200 * 4 * 1.5 for r in summaries)
    usage = workspace_usage(workspace)
    assert usage == {"generation", "compaction"}
    assert_clean(workspace)


def workspace_usage(workspace: Workspace) -> set[str]:
    with workspace_scope(workspace, ALL_SCOPES):
        return set(workspace.model_calls.values_list("purpose", flat=True))


def test_a_summariser_that_fails_leaves_the_view_as_it_was(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(failing)
    session = open_session(workspace, context_tokens=1_000, tools=[])
    talk(session, times=3)

    assert any(is_summary(request) for request in model.chats())
    assert checkpoints(session) == []
    last = [r for r in model.chats() if not is_summary(r)][-1].body["messages"]
    assert len(last) == 6
    assert_clean(workspace)


def test_the_indexes_of_a_session_change_at_a_compaction_only(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(answering)
    session = open_session(workspace, context_tokens=1_200, tools=[])
    talk(session, times=1)
    upsert_topic(
        workspace,
        scope_id=workspace.pk,
        topic=TopicDraft("tides", "High at noon.", "when the tide is high"),
        writer=Writer(TextMemoryVersion.Origin.IMPORT),
    )
    before = prefix(model)
    talk(session, times=1)
    assert prefix(model) == before
    assert "tides" not in before
    talk(session, times=2)
    assert "tides" in prefix(model)
    assert_clean(workspace)


def prefix(model: OpenAIServer) -> str:
    return str(model.chats()[-1].body["messages"][0]["content"])


def test_one_message_beyond_the_window_is_summarised_in_pieces(
    workspace: Workspace, model: OpenAIServer
) -> None:
    model.script(answering)
    session = open_session(workspace, context_tokens=1_500, tools=[])
    say(session, LONG * 6)
    work_off(workspace)
    talk(session, times=1)
    summaries = [r for r in model.chats() if is_summary(r)]
    assert len(summaries) >= 4
    assert_clean(workspace)


def test_an_index_over_its_budget_is_shortened_and_its_topics_stay(
    workspace: Workspace, model: OpenAIServer
) -> None:
    def behave(request: Request) -> Reply:
        text = request.body["messages"][-1]["content"]
        if not is_summary(request) or "](topics/" not in text:
            return answering(request)
        names = [line.split("]")[0][3:] for line in text.splitlines()]
        lines = [{"name": name, "summary": "天气"} for name in names]
        lines[1]["summary"] = "Approved calls need nobody"
        return completion(json.dumps({"lines": lines}))

    model.script(behave)
    writer = Writer(TextMemoryVersion.Origin.IMPORT)
    lines = [f"- [t{number}](topics/t{number}.md) — {'天气' * 60}" for number in range(80)]
    upsert_index(workspace, scope_id=workspace.pk, content="\n".join(lines) + "\n", writer=writer)
    session = open_session(workspace, context_tokens=1_000, tools=[])
    before = session.frozen_workspace_index
    run = say(session, LONG)
    talk(session, times=1)

    index = get_text_memory(workspace, scopes=None, scope_id=workspace.pk, kind="index")
    assert before == "\n".join(lines) + "\n"
    assert not index.over_budget
    assert index.content.startswith("- [t0](topics/t0.md) — 天气\n")
    assert "nobody" not in index.content
    assert len(index.content.splitlines()) == 80
    assert again(run).status == "completed"

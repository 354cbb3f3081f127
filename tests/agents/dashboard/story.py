"""A workspace whose agents have done something for every page."""

from dataclasses import dataclass
from uuid import UUID

from agents.events.append import append_event
from agents.hot.text_memory import TopicDraft, Writer, delete_topic, upsert_topic
from agents.models.conversations import Message, Session
from agents.models.distillation import Distillation
from agents.models.runs import Run, RunEvent
from agents.services.messages import insert_message, message_payload
from agents.services.runs import start_run, terminate_run
from agents.services.sessions import create_session
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from holamem.providers.base import Usage
from tests.agents import replies
from workspaces.models.tenancy import Workspace
from workspaces.services.usage import CallMade, record_model_call

ANSWER = "The Atlas gateway listens on **port 8443**.\n\n- production: 8443\n- staging: 8080"
SAVE = {
    "action": "save",
    "name": "house style",
    "content": "# House style\n\nWrite short sentences. 少用术语。",
    "summary": "how we write here",
}


@dataclass(frozen=True, slots=True)
class Story:
    """`done` has an answer, `waiting` an approval to decide, `failed` a run to try again."""

    done: UUID
    waiting: UUID
    failed: UUID
    topic: UUID
    index: UUID


def tell_story(workspace: Workspace) -> Story:
    topic, index = save_topics(workspace)
    distilled(workspace)
    return Story(
        done=answered(workspace).session.id,
        waiting=waiting(workspace).session.id,
        failed=failed(workspace).id,
        topic=topic,
        index=index,
    )


def save_topics(workspace: Workspace) -> tuple[UUID, UUID]:
    """Two versions of a topic that stays, and one that was deleted; ids of topic and index."""
    writer = Writer(origin="person")
    for content in ("Write short sentences.", "Write short and plain sentences. 少用术语。"):
        draft = TopicDraft("house style", f"# House style\n\n{content}", "how we write here")
        row = upsert_topic(workspace, scope_id=workspace.pk, topic=draft, writer=writer)
    draft = TopicDraft("old plans", "Move in June.", "what was planned")
    upsert_topic(workspace, scope_id=workspace.pk, topic=draft, writer=writer)
    delete_topic(workspace, scope_id=workspace.pk, name="old plans", writer=writer)
    with workspace_scope(workspace):
        index = workspace.text_memories.get(kind="index", scope_id=workspace.pk)
    return row.id, index.id


def answered(workspace: Workspace) -> replies.Conversation:
    """A question, a call of a tool that ran, and the answer."""
    talk = replies.talk(workspace, by=replies.person(workspace))
    _retitle(talk.session, "Ports of Atlas")
    talk.reply(("ping", {}))
    talk.work()
    _say(talk, ANSWER)
    record_model_call(
        workspace,
        call=CallMade(
            purpose="generation",
            provider="llm.example.com",
            model="small",
            usage=Usage(1234, 56, estimated=False),
            scope_id=workspace.pk,
            run_id=talk.run.id,
            session_id=talk.session.id,
        ),
    )
    talk.end()
    return talk


def waiting(workspace: Workspace, *, calls: int = 1) -> replies.Conversation:
    """A run that asks to save a topic, or several."""
    talk = replies.talk(workspace, by=replies.person(workspace))
    _retitle(talk.session, "写下行文规范")
    asked = [{**SAVE, "name": f"house style {n}" if n else "house style"} for n in range(calls)]
    talk.reply(*(("memory_write", arguments) for arguments in asked))
    return talk


def failed(workspace: Workspace) -> Session:
    talk = replies.talk(workspace, by=replies.person(workspace))
    with talk.step():
        talk.run.refresh_from_db()
        talk.run.workspace = workspace
        terminate_run(
            workspace,
            run=talk.run,
            status=Run.Status.FAILED,
            stop_reason="provider_error",
            error="The model service did not answer.",
        )
    return talk.session


def distilled(workspace: Workspace) -> Distillation:
    """The report of a pass that kept one statement and dropped another."""
    session = create_session(workspace, scope_id=workspace.pk, title="Night shift")
    with workspace_scope(workspace):
        return Distillation.objects.create(
            workspace=workspace,
            scope_id=workspace.pk,
            session=session,
            trigger=Distillation.Trigger.NIGHTLY,
            status=Distillation.Status.FAILED,
            from_seq=0,
            to_seq=9,
            messages=12,
            results=3,
            statements=[{"id": "1", "text": "Atlas listens on port 8443.", "topic": "atlas"}],
            dropped=[{"text": "Atlas will move to Go.", "reason": "intention"}],
            error="circuit_open",
            ended_at=now(),
        )


def queued(workspace: Workspace, content: str = "Hello?") -> tuple[Session, Run]:
    session = create_session(workspace, scope_id=workspace.pk)
    run = start_run(
        workspace,
        session=session,
        content=content,
        input_mode="queue",
        started_by=replies.person(workspace),
    )
    return session, run


def _retitle(session: Session, title: str) -> None:
    with workspace_scope(session.workspace):
        session.workspace.sessions.filter(id=session.id).update(title=title)


def _say(talk: replies.Conversation, text: str) -> None:
    message_id, turn_id = new_id(), new_id()
    with talk.step() as session:
        event = append_event(
            talk.workspace,
            session=session,
            type=RunEvent.Type.ASSISTANT_MESSAGE,
            payload=message_payload(message_id, content=text),
            run_id=talk.run.id,
            turn_id=turn_id,
        )
        insert_message(
            talk.workspace,
            session=session,
            role=Message.Role.ASSISTANT,
            content=text,
            event_seq=event.seq,
            id=message_id,
            run_id=talk.run.id,
            turn_id=turn_id,
            prefix_sha256=session.frozen_index_sha256,
        )

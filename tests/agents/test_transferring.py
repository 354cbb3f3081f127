"""What agents keep goes along with the workspace, and holds together in its new place."""

from pathlib import Path

import pytest

from agents.hot.history import list_history, verify_chain
from agents.hot.message_index import search_messages
from agents.hot.text_memory import Writer, get_text_memory, upsert_topic
from agents.hot.topics import TopicDraft
from agents.services.agents import default_agent
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict
from tests.agents.replies import end_user, talk
from tests.verification import assert_clean
from tests.workspaces.transfer.world import empty_workspace, exported, imported
from workspaces.models.tenancy import Workspace

TOPIC = TopicDraft("atlas", "The Atlas gateway listens on 8443.", "About the gateway")


def converse(workspace: Workspace) -> None:
    ana = end_user(workspace)
    for scope_id in (workspace.pk, ana):
        upsert_topic(workspace, scope_id=scope_id, topic=TOPIC, writer=Writer("tool"))
    talking = talk(workspace, user_id=ana, content="打印机在三楼走廊尽头。")
    save = {"action": "save", "name": "note", "content": "third floor", "summary": "printer"}
    talking.reply(("ping", {}), ("memory_write", save))
    talking.decide("approved", scope="session")
    talking.take()
    talking.work()
    talking.say("It is noted.")
    talking.end()


def test_conversations_text_memory_and_history_move_with_their_workspace(tmp_path: Path) -> None:
    source, target = empty_workspace("source"), empty_workspace()
    converse(source)
    default_agent(target)
    assert_clean(source)
    imported(target, exported(source, tmp_path))
    told = []
    for workspace in (source, target):
        with workspace_scope(workspace, ALL_SCOPES):
            messages = workspace.messages.order_by("id").values_list("role", "content")
            events = workspace.run_events.order_by("seq").values_list("type", flat=True)
            runs = workspace.runs.values_list("status", "config_sha256")
            told.append((list(messages), list(events), list(runs)))
    assert told[0] == told[1]
    assert len(told[0][0]) > 3
    memory = get_text_memory(target, scopes=None, scope_id=target.pk, kind="topic", name="atlas")
    assert memory.content == TOPIC.content
    scopes = [target.pk, end_user(target)]
    [hit] = search_messages(target, scopes=scopes, query="打印机", limit=5)
    assert hit.text == "打印机在三楼走廊尽头。"
    assert verify_chain(target) == []
    assert len(list_history(target, scopes=ALL_SCOPES)) == len(
        list_history(source, scopes=ALL_SCOPES)
    )
    assert_clean(target)


def test_a_workspace_with_an_unfinished_run_is_not_exported(tmp_path: Path) -> None:
    source = empty_workspace("source")
    talk(source)
    with pytest.raises(Conflict, match="runs have not ended"):
        exported(source, tmp_path)
    assert list(tmp_path.iterdir()) == []

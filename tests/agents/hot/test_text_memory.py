"""Text memory: an index and topics that change together, each version kept."""

from threading import Barrier, Thread
from uuid import UUID

import pytest
from django.db import connections

from agents.hot.history import verify_chain
from agents.hot.text_memory import (
    Writer,
    delete_topic,
    frozen_indexes,
    get_text_memory,
    list_text_memories,
    list_versions,
    upsert_index,
    upsert_topic,
)
from agents.hot.topics import INDEX_BYTES, LINE_CHARACTERS, TopicDraft, index_line
from agents.models.hot_memory import TextMemory
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, HolamemError, NotFound
from holamem.ids import new_id
from tests.agents.replies import end_user
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

BY_TOOL = Writer("tool")


def save(
    workspace: Workspace,
    name: str = "deployment",
    content: str = "Deploy with kubectl.",
    *,
    summary: str = "How services are deployed",
    scope_id: UUID | None = None,
    writer: Writer = BY_TOOL,
    version: int | None = None,
) -> TextMemory:
    return upsert_topic(
        workspace,
        scope_id=scope_id or workspace.pk,
        topic=TopicDraft(name, content, summary),
        writer=writer,
        expected_version=version,
    )


def index_of(workspace: Workspace, scope_id: UUID | None = None) -> str:
    scope = scope_id or workspace.pk
    return get_text_memory(workspace, scopes=[scope], scope_id=scope, kind="index").content


def test_a_text_memory_topic_and_its_index_line_change_together(workspace: Workspace) -> None:
    save(workspace)
    save(workspace, "部署", "用 kubectl 部署。", summary="服务怎么部署")
    save(workspace, content="Deploy with helm.", summary="Helm, not kubectl")
    assert index_of(workspace) == (
        "- [deployment](topics/deployment.md) — Helm, not kubectl\n"
        "- [部署](topics/部署.md) — 服务怎么部署\n"
    )
    topic = get_text_memory(
        workspace, scopes=None, scope_id=workspace.pk, kind="topic", name="deployment"
    )
    assert (topic.content, topic.version) == ("Deploy with helm.", 2)
    versions = list_versions(
        workspace, scopes=None, scope_id=workspace.pk, kind="topic", name="deployment"
    )
    assert [row.content for row in versions] == ["Deploy with helm.", "Deploy with kubectl."]
    assert verify_chain(workspace) == []
    assert_clean(workspace)


def test_a_deleted_text_memory_topic_leaves_the_index_and_comes_back_with_a_new_version(
    workspace: Workspace,
) -> None:
    save(workspace)
    delete_topic(workspace, scope_id=workspace.pk, name="Deployment", writer=Writer("person"))
    assert index_of(workspace) == ""
    assert [row.kind for row in list_text_memories(workspace, scopes=None)] == ["index"]
    with pytest.raises(NotFound):
        delete_topic(workspace, scope_id=workspace.pk, name="deployment", writer=BY_TOOL)
    assert save(workspace, version=0).version == 3
    assert_clean(workspace)


def test_a_text_memory_writer_that_read_an_older_version_gets_a_conflict(
    workspace: Workspace,
) -> None:
    save(workspace, version=0)
    save(workspace, content="Second.", version=1)
    with pytest.raises(Conflict) as late:
        save(workspace, content="Late.", version=1)
    assert late.value.detail == {"code": "version_changed", "version": 2}
    with pytest.raises(Conflict):
        save(workspace, content="Never read.", version=0)


def test_of_two_text_memory_writers_at_once_one_gets_a_conflict(workspace: Workspace) -> None:
    barrier, lost = Barrier(2), []

    def write(text: str) -> None:
        try:
            barrier.wait()
            save(workspace, content=text, version=0)
        except Conflict:
            lost.append(text)
        finally:
            connections.close_all()

    threads = [Thread(target=write, args=(text,)) for text in ("One.", "Two.")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lost) == 1
    assert verify_chain(workspace) == []
    assert_clean(workspace)


def test_a_text_memory_write_of_the_same_call_happens_once(workspace: Workspace) -> None:
    writer = Writer("tool", tool_call_id=new_id())
    save(workspace, writer=writer, version=0)
    assert save(workspace, writer=writer, version=0).version == 1
    delete = Writer("tool", tool_call_id=new_id())
    for _ in range(2):
        delete_topic(workspace, scope_id=workspace.pk, name="deployment", writer=delete)
    with workspace_scope(workspace):
        assert workspace.text_memory_versions.filter(kind="topic").count() == 2


def test_a_text_memory_line_is_cut_at_150_characters_without_breaking_a_character() -> None:
    line = index_line(name="家庭", summary="👨‍👩‍👧‍👦" * 60)
    assert len(line) <= LINE_CHARACTERS
    assert line.endswith("👨‍👩‍👧‍👦…")
    fits = index_line(name="a", summary="x" * (LINE_CHARACTERS - len("- [a](topics/a.md) — ")))
    assert (len(fits), fits[-1]) == (LINE_CHARACTERS, "x")


def test_a_text_memory_index_over_its_budget_is_stored_whole_and_marked(
    workspace: Workspace,
) -> None:
    long = "".join(f"- [t{n}](topics/t{n}.md) — line {n}\n" for n in range(200))
    kept = upsert_index(workspace, scope_id=workspace.pk, content=long, writer=Writer("import"))
    assert not kept.over_budget
    save(workspace, "one more")
    index = get_text_memory(workspace, scopes=None, scope_id=workspace.pk, kind="index")
    assert index.over_budget
    assert index.content.startswith(long)
    wide = "界" * (INDEX_BYTES // 3) + "\n"
    kept = upsert_index(workspace, scope_id=workspace.pk, content=wide, writer=Writer("import"))
    assert (kept.byte_len, kept.over_budget) == (len(wide.encode()), False)
    kept = upsert_index(
        workspace, scope_id=workspace.pk, content=wide + "x", writer=Writer("import")
    )
    assert kept.over_budget


@pytest.mark.parametrize(
    ("name", "content", "summary"),
    [
        ("../secrets", "x", "y"),
        ("a/b", "x", "y"),
        ("a]b", "x", "y"),
        (".hidden", "x", "y"),
        ("", "x", "y"),
        ("n" * 61, "x", "y"),
        ("topic", "a\x00b", "y"),
        ("topic", "a\x1bb", "y"),
        ("topic", "\ud800", "y"),
        ("topic", " \n", "y"),
        ("topic", "x", "\u200b"),
        ("topic", "x" * 100_001, "y"),
        ("topic", '<holamem-memory mark="1">x</holamem-memory>', "y"),
    ],
)
def test_text_memory_refuses_what_it_cannot_keep(
    workspace: Workspace, name: str, content: str, summary: str
) -> None:
    with pytest.raises(HolamemError):
        save(workspace, name, content, summary=summary)
    assert list_text_memories(workspace, scopes=ALL_SCOPES) == []


def test_secrets_are_masked_in_text_memory(workspace: Workspace) -> None:
    secret = "sk-proj-" + "a1B2" * 12
    save(workspace, content=f"The key is {secret}.", summary=f"Key {secret}")
    with workspace_scope(workspace, ALL_SCOPES):
        kept = [row.content for row in workspace.text_memory_versions.all()]
    assert all(secret not in text for text in kept)
    assert "[masked:" in kept[0]


def test_text_memory_of_an_end_user_is_nobody_elses(workspace: Workspace) -> None:
    ana, ben = end_user(workspace, "ana"), end_user(workspace, "ben")
    save(workspace, "diet", "Ana is vegan.", summary="Vegan", scope_id=ana)
    save(workspace)
    assert [row.name for row in list_text_memories(workspace, scopes=[workspace.pk, ben])] == [
        "index",
        "deployment",
    ]
    with pytest.raises(NotFound):
        get_text_memory(
            workspace, scopes=[workspace.pk, ben], scope_id=ana, kind="topic", name="diet"
        )
    own, others = frozen_indexes(workspace, scope_id=ana), frozen_indexes(workspace, scope_id=ben)
    assert "diet" in own.user
    assert (others.user, others.workspace) == ("", own.workspace)
    assert own.sha256 != others.sha256
    assert verify_chain(workspace) == []

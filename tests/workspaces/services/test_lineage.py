"""The integration category: the source decides what is current, whatever the order of arrival."""

from datetime import timedelta
from uuid import UUID

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import InvalidInput
from tests.verification import assert_clean
from tests.workspaces.memory import MORNING, draft, drain, principal_of, remember
from tests.workspaces.services.test_revisions import current, revision, section
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.corrections.forget import forget_leaf
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.lineage import aligned

LONG = tuple(section(name) for name in ("Alpha", "Bravo", "Charlie"))


def deletion(*, of: str = "handbook.md", minutes: int = 0, **values: object) -> EventDraft:
    return revision("", of=of, minutes=minutes, deleted=True, **values)


def leaves(workspace: Workspace) -> list[SourceLeaf]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.leaves.order_by("observed_at", "id"))


def minute(number: int) -> object:
    return MORNING + timedelta(minutes=number)


@pytest.mark.parametrize("text", ["Port is 1.", "端口是八千。"])
def test_what_was_deleted_at_its_source_is_inactive_from_then_on(
    workspace: Workspace, text: str
) -> None:
    remember(workspace, revision(text))
    [gone] = remember(workspace, deletion(minutes=5))
    assert (gone.status, gone.chunks) == ("processed", [])
    [leaf] = leaves(workspace)
    assert (leaf.status, leaf.valid_until) == ("inactive", minute(5))
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.lexeme_entries.filter(node_id=leaf.id).count() == 0
        assert workspace.vector_entries.filter(node_id=leaf.id).count() == 0
        assert workspace.trees.get().status == "empty"
    assert_clean(workspace)


def test_a_late_older_revision_does_not_revive_what_was_deleted(workspace: Workspace) -> None:
    remember(workspace, revision("Port is 1."), deletion(minutes=10))
    remember(workspace, revision("Port is 2.", minutes=5))
    assert current(workspace) == []
    assert [leaf.valid_until for leaf in leaves(workspace)] == [minute(5), minute(10)]
    assert_clean(workspace)


def test_a_deletion_may_come_before_anything_that_it_deletes(workspace: Workspace) -> None:
    remember(workspace, deletion(minutes=10))
    remember(workspace, revision("Port is 1."))
    assert current(workspace) == []
    assert [leaf.status for leaf in leaves(workspace)] == ["inactive"]
    assert_clean(workspace)


def test_a_late_deletion_between_two_revisions_deletes_nothing(workspace: Workspace) -> None:
    remember(workspace, revision("Port is 1."), revision("Port is 2.", minutes=10))
    remember(workspace, deletion(minutes=5))
    assert current(workspace) == ["Port is 2."]
    assert [leaf.valid_until for leaf in leaves(workspace)] == [minute(5), None]
    assert_clean(workspace)


@pytest.mark.parametrize("text", ["Port is 1.", "Port is 2."])
def test_a_newer_revision_brings_back_what_was_deleted(workspace: Workspace, text: str) -> None:
    remember(workspace, revision("Port is 1."), deletion(minutes=5))
    [back] = remember(workspace, revision(text, minutes=10))
    assert back.chunks[0].outcome == "created"
    assert current(workspace) == [text]
    assert [leaf.status for leaf in leaves(workspace)] == ["inactive", "active"]
    assert_clean(workspace)


def test_a_deletion_sent_again_is_the_first_event(workspace: Workspace) -> None:
    remember(workspace, revision("Port is 1."))
    first, again = remember(workspace, deletion(minutes=5), deletion(minutes=6))
    assert first.event_id == again.event_id


def test_a_deleted_object_is_read_in_no_summary(workspace: Workspace) -> None:
    facts = [revision(f"Fact number {n}.", of=f"doc-{n}.md", minutes=n) for n in range(8)]
    remember(workspace, *facts)
    with workspace_scope(workspace, ALL_SCOPES):
        [before] = workspace.summaries.filter(status="sealed")
    receive_events(
        workspace,
        drafts=[deletion(of="doc-3.md", minutes=30)],
        principal=principal_of(workspace),
    )
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        old = workspace.summaries.get(id=before.id)
        [after] = workspace.summaries.filter(status="sealed")
    assert (old.status, old.withheld) == ("retired", True)
    assert len(after.child_ids) == 7
    assert_clean(workspace)


def test_deleting_one_of_two_objects_with_the_same_text_keeps_it(workspace: Workspace) -> None:
    remember(workspace, revision("Licence: MIT.", of="a"), revision("Licence: MIT.", of="b"))
    remember(workspace, deletion(of="a", minutes=5))
    assert current(workspace) == ["Licence: MIT."]
    remember(workspace, deletion(of="b", minutes=9))
    assert current(workspace) == []
    assert [leaf.valid_until for leaf in leaves(workspace)] == [minute(9)]
    assert_clean(workspace)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"kind": "user_message", "provider": "", "account": ""}, "deleted"),
        ({"text": "Not gone."}, "text"),
        ({"external_id": ""}, "external_id"),
    ],
)
def test_a_deletion_names_an_object_and_nothing_else(
    workspace: Workspace, values: dict[str, str], field: str
) -> None:
    given: dict[str, object] = {
        "kind": "sync_item",
        "provider": "files",
        "account": "docs",
        "external_id": "a",
        "text": "",
    } | values
    text = str(given.pop("text"))
    with pytest.raises(InvalidInput) as refused:
        remember(workspace, draft(text, deleted=True, **given))
    assert refused.value.field == field


@pytest.mark.parametrize("kind", ["integration_record", "document_revision", "sync_item"])
def test_every_kind_of_integration_event_is_a_revision_of_its_object(
    workspace: Workspace, kind: str
) -> None:
    remember(workspace, revision("Port is 1.", kind=kind))
    [second] = remember(workspace, revision("Port is 2.", minutes=1, kind=kind))
    assert second.chunks[0].outcome == "superseding"
    assert second.chunks[0].tree_key == "files:docs"


@pytest.mark.slow
def test_each_account_of_a_provider_has_a_tree_of_its_own(workspace: Workspace) -> None:
    remember(
        workspace,
        revision("Port is 1."),
        revision("Port is 1.", account="wiki"),
        revision("Port is 1.", provider="git"),
        revision("Port is 1.", category="integration", kind="user_message", account="chat"),
    )
    with workspace_scope(workspace, ALL_SCOPES):
        keys = sorted(workspace.trees.values_list("key", flat=True))
    assert keys == ["files:chat", "files:docs", "files:wiki", "git:docs"]
    remember(workspace, deletion(minutes=1))
    assert len(current(workspace)) == 3
    assert_clean(workspace)


@pytest.mark.parametrize("text", ["The Atlas gateway listens on port 8443.", "北京办公室在三楼。"])
def test_no_leaf_is_shared_between_the_categories(workspace: Workspace, text: str) -> None:
    said, written = remember(workspace, draft(text), revision(text))
    assert written.chunks[0].outcome == "created"
    assert said.chunks[0].leaf_id != written.chunks[0].leaf_id
    remember(workspace, deletion(minutes=1))
    [left] = [leaf for leaf in leaves(workspace) if leaf.status == "active"]
    assert left.category == "interaction"
    assert_clean(workspace)


@pytest.mark.slow
def test_parts_of_an_older_revision_that_arrives_late_are_all_past(workspace: Workspace) -> None:
    remember(workspace, revision("Only this is left.", minutes=10))
    remember(workspace, revision("\n\n".join(LONG)))
    assert current(workspace) == ["Only this is left."]
    past = [leaf for leaf in leaves(workspace) if leaf.status != "active"]
    assert len(past) > 1
    assert {leaf.valid_until for leaf in past} == {minute(10)}
    assert_clean(workspace)


def test_of_two_revisions_at_one_time_the_one_that_came_later_counts(workspace: Workspace) -> None:
    results = remember(workspace, *[revision(f"Port is {n}.") for n in (1, 2, 3)])
    assert [result.chunks[0].outcome for result in results] == [
        "created",
        "superseding",
        "superseding",
    ]
    assert current(workspace) == ["Port is 3."]
    assert_clean(workspace)


@pytest.mark.slow
def test_of_two_revisions_at_one_time_the_order_of_the_work_does_not_count(
    workspace: Workspace,
) -> None:
    remember(workspace, revision("Another.", of="b"))
    ids = receive(workspace, revision("Port is 1."), revision("Port is 2."))
    run_in_order(workspace, ids[::-1])
    assert "Port is 1." not in current(workspace)
    assert "Port is 2." in current(workspace)
    assert_clean(workspace)


@pytest.mark.slow
def test_versions_that_arrive_in_any_order_never_overlap(workspace: Workspace) -> None:
    for minutes in (30, 0, 20, 10):
        remember(workspace, revision(f"Port is {minutes}.", minutes=minutes))
    spans = [(leaf.observed_at, leaf.valid_until) for leaf in leaves(workspace)]
    assert spans == [
        (minute(0), minute(10)),
        (minute(10), minute(20)),
        (minute(20), minute(30)),
        (minute(30), None),
    ]
    assert current(workspace) == ["Port is 30."]
    assert_clean(workspace)


@pytest.mark.slow
def test_an_older_text_that_comes_after_a_newer_one_is_not_taken_for_it(
    workspace: Workspace,
) -> None:
    remember(workspace, revision("Port is 1.", minutes=10))
    remember(workspace, revision("Port is 2.", minutes=5))
    remember(workspace, revision("Port is 2.", minutes=20))
    assert current(workspace) == ["Port is 2."]
    assert_clean(workspace)


@pytest.mark.slow
def test_what_the_source_confirmed_later_is_not_replaced_by_what_came_between(
    workspace: Workspace,
) -> None:
    remember(workspace, revision("Port is 1."), revision("Port is 1.", minutes=60))
    remember(workspace, revision("Port is 2.", minutes=30))
    assert current(workspace) == ["Port is 1."]
    assert_clean(workspace)


@pytest.mark.slow
def test_a_part_that_only_moves_stays_the_leaf_that_it_is(workspace: Workspace) -> None:
    remember(workspace, revision("\n\n".join(LONG)))
    before = {leaf.id for leaf in leaves(workspace)}
    new = section("Zulu")
    [result] = remember(workspace, revision("\n\n".join([new, *LONG]), minutes=1))
    assert {leaf.id for leaf in leaves(workspace) if leaf.status == "active"} > before
    outcomes = [chunk.outcome for chunk in result.chunks]
    assert "superseding" not in outcomes
    assert outcomes.count("noop_duplicate") == len(before)
    assert_clean(workspace)


def test_a_part_that_is_rewritten_supersedes_the_one_that_stood_there(
    workspace: Workspace,
) -> None:
    remember(workspace, revision("\n\n".join(LONG)))
    changed = LONG[1].replace("room 3.", "room 3, on the left.")
    remember(
        workspace, revision("\n\n".join([section("Zulu"), LONG[0], changed, LONG[2]]), minutes=1)
    )
    old = [leaf for leaf in leaves(workspace) if leaf.status == "superseded"]
    assert [leaf.title.startswith("Bravo") for leaf in old] == [True]
    heirs = {leaf.id: leaf for leaf in leaves(workspace)}
    assert heirs[old[0].superseded_by_id].subject_key == old[0].subject_key
    keys = [leaf.subject_key for leaf in leaves(workspace) if leaf.status == "active"]
    assert len(keys) == len(set(keys))
    assert_clean(workspace)


def test_a_part_that_a_person_forgot_stays_forgotten_when_another_changes(
    workspace: Workspace,
) -> None:
    remember(workspace, revision("\n\n".join(LONG)))
    [first, *_] = [leaf for leaf in leaves(workspace) if "Alpha" in leaf.title]
    forget_leaf(workspace, principal=principal_of(workspace), scopes=ALL_SCOPES, leaf_id=first.id)
    drain(workspace)
    remember(workspace, revision("\n\n".join([*LONG[:2], section("Zulu")]), minutes=1))
    assert not any("Alpha service number 1 " in text for text in current(workspace))
    assert any("Zulu" in text for text in current(workspace))
    assert_clean(workspace)


def test_an_end_users_object_is_not_the_shared_one(workspace: Workspace) -> None:
    remember(workspace, revision("Port is 1."), revision("Port is 2.", user_id="u-7"))
    assert sorted(current(workspace)) == ["Port is 1.", "Port is 2."]
    remember(workspace, deletion(minutes=1))
    assert current(workspace) == ["Port is 2."]
    assert_clean(workspace)


@pytest.mark.slow
def test_the_same_name_from_another_source_is_another_object(workspace: Workspace) -> None:
    remember(workspace, revision("Port is 1."), revision("Port is 2.", source="mirror"))
    assert sorted(current(workspace)) == ["Port is 1.", "Port is 2."]
    assert len({leaf.subject_key for leaf in leaves(workspace)}) == 2
    assert_clean(workspace)


def test_only_what_was_rewritten_is_aligned() -> None:
    assert aligned("abc", "aXc") == {1: 1}
    assert aligned("abc", "Xabc") == {}
    assert aligned("abc", "cab") == {}
    assert aligned("ab", "XYZ") == {0: 0, 1: 1}
    assert aligned("", "ab") == {}


def receive(workspace: Workspace, *drafts: EventDraft) -> list[UUID]:
    return receive_events(workspace, drafts=drafts, principal=principal_of(workspace)).event_ids


def run_in_order(workspace: Workspace, event_ids: list[UUID]) -> None:
    from tests.faults.gates import claim
    from workspaces.models.jobs import Job
    from workspaces.services.worker import run_job

    for event_id in event_ids:
        run_job(claim(workspace, topic=Job.Topic.EVENT_RECEIVED, target_id=event_id))
    drain(workspace)

"""Ways in which memories of this kind failed their users, each tried here."""

from io import StringIO

import pytest
from django.core.management import call_command

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.faults.gates import once_at
from tests.verification import assert_clean
from tests.workspaces.corrections import forget
from tests.workspaces.erasing import erase
from tests.workspaces.memory import (
    ATLAS_FACTS,
    draft,
    drain,
    principal_of,
    remember,
    results_of,
)
from tests.workspaces.scripted_model import ScriptedModel
from workspaces.management.commands import reembed
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.intake import receive_events

SECRET_WORDS = "Mara Lindqvist takes insulin at nine every morning."


def leaves(workspace: Workspace, **values: object) -> list[SourceLeaf]:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = workspace.leaves.select_related("entity").filter(**values)
        return list(rows.order_by("observed_at", "id"))


def test_a_session_that_nobody_ends_is_remembered(workspace: Workspace) -> None:
    """An agent that starts over under another name loses nothing of what was said before."""
    said = [draft(text, session="before", minutes=n) for n, text in enumerate(ATLAS_FACTS[:3])]
    remember(workspace, *said, draft(ATLAS_FACTS[3], session="after", minutes=9))
    assert [leaf.session_ref for leaf in leaves(workspace)] == ["before"] * 3 + ["after"]
    assert_clean(workspace)


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (
            (
                "Priya Nair leads the Atlas project.",
                "Dr. Priya Nair works from Lisbon.",
                "PRIYA NAIR is allergic to nuts.",
                "On the team are Tom Berg, Priya Nair and Ana Silva.",
            ),
            "Priya Nair",
        ),
        (
            ("李晓雯负责支付项目。", "李晓雯老师住在杭州。", "李晓雯喜欢喝茶。"),
            "李晓雯",
        ),
    ],
)
def test_a_person_of_several_conversations_is_one_entity(
    workspace: Workspace, texts: tuple[str, ...], name: str
) -> None:
    for number, text in enumerate(texts):
        remember(workspace, draft(text, session=f"s{number}", minutes=number))
    with workspace_scope(workspace, ALL_SCOPES):
        names = [
            row.name
            for row in workspace.entities.filter(is_system=False)
            if name.casefold() in row.name.casefold()
        ]
    assert names == [name]
    assert_clean(workspace)


@pytest.mark.parametrize(
    "text", ["I prefer tea over coffee in the morning.", "我早上喜欢喝茶，不喝咖啡。"]
)
def test_a_fact_that_also_comes_as_a_preference_is_one_memory(
    workspace: Workspace, text: str
) -> None:
    said = draft(text, actor="Ana", admission="auto")
    given = draft(text, actor="Ana", kind="accepted_preference", minutes=5)
    for order in ((said, given), (given, said)):
        remember(workspace, *order)
        assert len(leaves(workspace, status="active")) == 1
    assert_clean(workspace)


def test_taking_the_vectors_away_takes_no_memory_away(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:9])])
    before = [(leaf.id, leaf.status, leaf.parent_id) for leaf in leaves(workspace)]
    with workspace_scope(workspace, ALL_SCOPES):
        words = workspace.lexeme_entries.count()
        workspace.vector_entries.all().delete()
        assert workspace.lexeme_entries.count() == words
    assert [(leaf.id, leaf.status, leaf.parent_id) for leaf in leaves(workspace)] == before
    monkeypatch.setattr(reembed, "find_workspaces", lambda: [workspace])
    call_command("reembed", stdout=StringIO())
    assert_clean(workspace)


def test_events_are_taken_in_without_asking_a_model(
    workspace: Workspace, model: ScriptedModel
) -> None:
    """However slow it is, the answer to the caller does not wait for it."""
    receive_events(
        workspace,
        drafts=[draft(ATLAS_FACTS[0], admission="auto")],
        principal=principal_of(workspace),
    )
    assert model.purposes() == []
    drain(workspace)
    assert model.purposes()[0] == "admission"


def test_words_that_are_erased_when_a_worker_has_just_taken_them_up_go_to_no_model(
    workspace: Workspace, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    [known] = remember(workspace, draft(SECRET_WORDS))
    waiting = receive_events(
        workspace,
        drafts=[draft(SECRET_WORDS, admission="auto")],
        principal=principal_of(workspace),
    )
    model.requests.clear()
    leaf_id = known.chunks[0].leaf_id
    assert leaf_id is not None

    def take_it() -> None:
        erase(workspace, leaf_id)

    once_at(monkeypatch, "event.taken_up", take_it)
    drain(workspace)
    assert "insulin" not in str([request.body for request in model.requests])
    [result] = results_of(workspace, waiting.event_ids)
    assert [(chunk.outcome, chunk.reason) for chunk in result.chunks] == [("rejected", "erased")]
    assert_clean(workspace)


def test_what_follows_from_a_memory_ends_with_it(workspace: Workspace) -> None:
    """Summaries, search and later answers: nothing keeps what was derived from it."""
    results = remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS)])
    leaf_id = results[1].chunks[0].leaf_id
    assert leaf_id is not None
    forget(workspace, leaf_id)
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        live = workspace.summaries.filter(status__in=("sealed", "stale"), withheld=False)
        said = " ".join(node.summary for node in live)
    assert "access.log" not in said
    assert_clean(workspace)

"""Moving a leaf to another tree by hand, and judging the fallback bucket again."""

from uuid import UUID

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound
from tests.faults.gates import once_at
from tests.verification import assert_clean
from tests.workspaces.corrections import (
    active_in,
    correct,
    forget,
    leaf_row,
    move,
    remember_all,
    undo,
)
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from tests.workspaces.model_memory import ATLAS, UNCATEGORIZED
from tests.workspaces.scripted_model import ScriptedModel, assignment, create, match_first, reply
from workspaces.bodies import read_markdown
from workspaces.models.tenancy import Workspace
from workspaces.services.placement import NewEntityPlan

MARA = "Mara Lindqvist is on call this week."
NEW = [
    (NewEntityPlan("system", "Edge Router"), "interaction:edge-router"),
    (NewEntityPlan("system", "边缘路由器"), "interaction:bian-yuan-lu-you-qi"),
]


def tree_of(workspace: Workspace, leaf_id: UUID) -> str:
    return leaf_row(workspace, leaf_id).tree.key


def test_a_leaf_moves_to_an_entity_that_exists(workspace: Workspace) -> None:
    one, _, other = remember_all(workspace, *ATLAS_FACTS[:2], MARA)
    moved = move(workspace, one, to=tree_of(workspace, other).partition(":")[2])
    old, new = leaf_row(workspace, one), leaf_row(workspace, moved.leaf_id)
    assert (old.status, new.status, new.moved_from_leaf_id) == ("inactive", "active", one)
    assert (new.tree.key, new.tree_id) == (moved.tree_key, leaf_row(workspace, other).tree_id)
    assert (new.observed_at, new.fingerprint) == (old.observed_at, old.fingerprint)
    assert read_markdown(new.body_path, sha256=new.body_sha256) == ATLAS_FACTS[0]
    with workspace_scope(workspace):
        behind = [
            list(workspace.leaf_sources.filter(leaf=leaf_id).values_list("event_id", "is_creator"))
            for leaf_id in (one, moved.leaf_id)
        ]
        counts = dict(workspace.trees.values_list("key", "leaf_count"))
    assert behind[0] == behind[1]
    assert sorted(counts.values()) == [1, 2]
    drain(workspace)
    assert_clean(workspace)


@pytest.mark.parametrize(("entity", "key"), NEW)
def test_a_leaf_moves_to_a_new_entity(
    workspace: Workspace, entity: NewEntityPlan, key: str
) -> None:
    one, two = remember_all(workspace, *ATLAS_FACTS[:2])
    moved = move(workspace, one, new=entity)
    again = move(workspace, two, new=entity)  # the name is known by now
    assert moved.tree_key == again.tree_key == key
    with workspace_scope(workspace):
        assert workspace.entities.filter(name=entity.name).count() == 1
    drain(workspace)
    assert_clean(workspace)


def test_the_old_trees_summary_is_made_again_without_it(workspace: Workspace) -> None:
    ids = remember_all(workspace, *ATLAS_FACTS[:8], MARA)
    move(workspace, ids[3], to=tree_of(workspace, ids[8]).partition(":")[2])
    drain(workspace)
    with workspace_scope(workspace):
        [node] = workspace.summaries.filter(status="sealed")
    assert len(node.child_ids) == 7
    assert ids[3] not in node.child_ids
    assert_clean(workspace)


def test_a_text_that_the_other_tree_holds_is_linked(workspace: Workspace) -> None:
    one, _, other = remember_all(workspace, *ATLAS_FACTS[:2], MARA)
    slug = tree_of(workspace, other).partition(":")[2]
    first = move(workspace, one, to=slug)
    [again] = remember(workspace, draft(ATLAS_FACTS[0], minutes=90))
    leaf_id = again.chunks[0].leaf_id
    assert leaf_id is not None
    second = move(workspace, leaf_id, to=slug)
    assert (second.leaf_id, second.is_linked) == (first.leaf_id, True)
    with workspace_scope(workspace):
        assert workspace.leaf_sources.filter(leaf=first.leaf_id).count() == 2
    drain(workspace)
    assert_clean(workspace)

    undo(workspace, second.audit_id)
    assert leaf_row(workspace, leaf_id).status == "active"
    drain(workspace)
    assert_clean(workspace)


def test_an_undone_move_is_back_in_its_tree(workspace: Workspace) -> None:
    one, _, other = remember_all(workspace, *ATLAS_FACTS[:2], MARA)
    moved = move(workspace, one, to=tree_of(workspace, other).partition(":")[2])
    back = undo(workspace, moved.audit_id)
    leaf = leaf_row(workspace, back.leaf_id)
    assert (leaf.status, leaf.tree_id) == ("active", leaf_row(workspace, one).tree_id)
    assert leaf.moved_from_leaf_id == moved.leaf_id
    drain(workspace)
    assert_clean(workspace)


def test_a_moved_leaf_that_was_forgotten_does_not_move_back(workspace: Workspace) -> None:
    one, _, other = remember_all(workspace, *ATLAS_FACTS[:2], MARA)
    moved = move(workspace, one, to=tree_of(workspace, other).partition(":")[2])
    forget(workspace, moved.leaf_id)
    with pytest.raises(Conflict) as refused:
        undo(workspace, moved.audit_id)
    assert refused.value.detail["code"] == "leaf_forgotten"


def test_refusals(workspace: Workspace) -> None:
    [one, private] = [
        result.chunks[0].leaf_id
        for result in remember(
            workspace, draft(ATLAS_FACTS[0]), draft(MARA, minutes=1, user_id="customer-7")
        )
    ]
    assert one is not None
    assert private is not None
    slug = tree_of(workspace, private).partition(":")[2]
    with pytest.raises(NotFound) as refused:  # an entity of somebody's own memory
        move(workspace, one, to=slug)
    assert refused.value.field == "entity"
    with pytest.raises(Conflict) as same:
        move(workspace, one, to="atlas-gateway")
    assert same.value.detail["code"] == "same_tree"
    for bad in (NewEntityPlan("system", "it"), NewEntityPlan("planet", "Mars")):
        with pytest.raises(InvalidInput):
            move(workspace, one, new=bad)
    with pytest.raises(InvalidInput):
        move(workspace, one)
    made = correct(workspace, one, "The Atlas gateway listens on port 9443.")
    with pytest.raises(Conflict, match=str(made.leaf_id)):
        move(workspace, one, new=NewEntityPlan("system", "Edge Router"))
    drain(workspace)
    assert_clean(workspace)


# The fallback bucket is judged again.

LOOSE = [
    ("Orion restarts every night at three.", "Orion", "Orion is a batch server."),
    ("猎户座每天凌晨三点重启。", "猎户座", "猎户座是一台批处理服务器。"),
]


def waiting_leaf(workspace: Workspace, model: ScriptedModel, text: str) -> UUID:
    model.answers["assignment"] = reply(assignment)
    [result] = remember(workspace, draft(text))
    assert result.chunks[0].tree_key == UNCATEGORIZED
    assert result.chunks[0].leaf_id is not None
    return result.chunks[0].leaf_id


def let_appear(workspace: Workspace, model: ScriptedModel, name: str, text: str) -> None:
    """An entity appears; whatever is asked after that matches the first one on the list."""
    first = create(name, evidence=name)
    then = match_first()
    asked: list[int] = []

    def answer(request: object) -> object:
        asked.append(1)
        return (first if len(asked) == 1 else then)(request)  # type: ignore[arg-type]

    model.answers["assignment"] = answer  # type: ignore[assignment]
    remember(workspace, draft(text, minutes=60))


@pytest.mark.parametrize(("loose", "name", "about"), LOOSE)
def test_what_waits_moves_when_its_entity_appears(
    workspace: Workspace, model: ScriptedModel, loose: str, name: str, about: str
) -> None:
    leaf_id = waiting_leaf(workspace, model, loose)
    let_appear(workspace, model, name, about)
    old = leaf_row(workspace, leaf_id)
    assert old.status == "inactive"
    with workspace_scope(workspace, ALL_SCOPES):
        new = workspace.leaves.select_related("entity").get(moved_from_leaf=leaf_id)
        [entry] = workspace.audit_entries.filter(action="leaf.moved")
    assert new.entity is not None
    assert new.entity.name == name
    assert entry.actor == "system:rejudge"
    assert_clean(workspace)


def test_what_a_person_put_back_stays(workspace: Workspace, model: ScriptedModel) -> None:
    leaf_id = waiting_leaf(workspace, model, LOOSE[0][0])
    let_appear(workspace, model, LOOSE[0][1], LOOSE[0][2])
    with workspace_scope(workspace):
        [entry] = workspace.audit_entries.filter(action="leaf.moved")
        entity = workspace.entities.get(name="Orion")
    back = undo(workspace, entry.id)
    request(workspace, entity.id)
    drain(workspace)
    assert leaf_row(workspace, back.leaf_id).status == "active"
    assert tree_of(workspace, back.leaf_id) == tree_of(workspace, leaf_id) == UNCATEGORIZED
    assert_clean(workspace)


def test_what_does_not_match_or_is_about_something_else_stays(
    workspace: Workspace, model: ScriptedModel
) -> None:
    leaf_id = waiting_leaf(workspace, model, LOOSE[0][0])
    model.answers["assignment"] = create("Atlas", evidence="The Atlas gateway")
    remember(workspace, draft(ATLAS_FACTS[0], minutes=60))
    before = len(model.documents("assignment"))
    model.answers["assignment"] = create("Orion", evidence="Orion")
    remember(workspace, draft(LOOSE[0][2], minutes=90))
    # The new fact, and the waiting leaf once more: Atlas is not named in it, and asked nothing.
    assert len(model.documents("assignment")) - before == 2
    model.answers["assignment"] = reply(assignment)
    with workspace_scope(workspace):
        orion = workspace.entities.get(name="Orion")
    request(workspace, orion.id)
    drain(workspace)
    assert tree_of(workspace, leaf_id) != ATLAS
    assert_clean(workspace)


def test_a_second_run_changes_nothing(workspace: Workspace, model: ScriptedModel) -> None:
    leaf_id = waiting_leaf(workspace, model, LOOSE[0][0])
    let_appear(workspace, model, LOOSE[0][1], LOOSE[0][2])
    with workspace_scope(workspace):
        entity = workspace.entities.get(name="Orion")
    asked = len(model.documents("assignment"))
    request(workspace, entity.id)
    drain(workspace)
    assert len(model.documents("assignment")) == asked
    assert len(active_in(workspace, leaf_row(workspace, leaf_id).tree_id)) == 0
    assert_clean(workspace)


def test_a_leaf_that_goes_while_it_is_judged_is_left_alone(
    workspace: Workspace, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaf_id = waiting_leaf(workspace, model, LOOSE[0][0])
    once_at(monkeypatch, "move.after_files", lambda: _forget(workspace, leaf_id))
    let_appear(workspace, model, LOOSE[0][1], LOOSE[0][2])
    monkeypatch.undo()
    row = leaf_row(workspace, leaf_id)
    assert row.forgotten_at is not None
    with workspace_scope(workspace):
        assert not workspace.leaves.filter(moved_from_leaf=leaf_id).exists()
    drain(workspace)
    assert_clean(workspace)


def request(workspace: Workspace, entity_id: UUID) -> None:
    from workspaces.services.topology import request_rejudge

    with workspace_scope(workspace):
        request_rejudge(workspace, entity=workspace.entities.get(id=entity_id))


def _forget(workspace: Workspace, leaf_id: UUID) -> None:
    forget(workspace, leaf_id)

"""With a chat model the model judges, and no answer of it can put a memory in a wrong place."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.openai_server import Behaviour, answer, fenced, garbage, with_prose
from tests.sampling import sampled
from tests.verification import assert_clean
from tests.workspaces.memory import draft, remember, unfinished_jobs
from tests.workspaces.model_memory import (
    ATLAS,
    LOG,
    PORT,
    UNCATEGORIZED,
    UNUSABLE,
    entity_names,
    know_atlas,
    leaves_of,
)
from tests.workspaces.scripted_model import (
    MODEL_NAME,
    ScriptedModel,
    assignment,
    create,
    match_first,
    new_entity,
    relate_to_first,
)
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_workspace

# The model decides.


def test_a_chunk_that_the_model_turns_down_is_asked_nothing_more(
    workspace: Workspace, model: ScriptedModel
) -> None:
    model.answers["admission"] = answer({"confidence": 0.2, "reason": "small_talk"})
    [result] = remember(workspace, draft(PORT, admission="judge"))
    assert [(chunk.outcome, chunk.reason) for chunk in result.chunks] == [
        ("rejected", "small_talk")
    ]
    assert model.purposes() == ["admission"]
    assert leaves_of(workspace) == []
    assert entity_names(workspace) == []


def test_the_model_names_the_entity_and_describes_the_leaf(
    workspace: Workspace, model: ScriptedModel
) -> None:
    model.answers["assignment"] = create(
        "Atlas",
        evidence="Atlas gateway",
        title="Port of Atlas",
        summary="Atlas listens on 8443.",
        labels=["network"],
        subject_key="Atlas|port",
    )
    [result] = remember(workspace, draft(PORT, admission="judge"))
    assert model.purposes() == ["admission", "assignment"]
    assert result.chunks[0].admission_confidence == 0.9
    assert result.chunks[0].decision == "create_new"
    [leaf] = leaves_of(workspace)
    assert leaf.entity is not None
    assert (leaf.entity.type, leaf.entity.name, leaf.entity.slug) == ("system", "Atlas", "atlas")
    assert (leaf.title, leaf.summary) == ("Port of Atlas", "Atlas listens on 8443.")
    assert (leaf.labels, leaf.subject_key) == (["network"], "atlas|port")
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.chunks.get(id=leaf.chunk_id).judged_by == MODEL_NAME


def test_a_match_takes_the_tree_of_the_entity_that_was_offered(
    workspace: Workspace, model: ScriptedModel
) -> None:
    know_atlas(workspace, model)
    model.answers["assignment"] = match_first()
    [result] = remember(workspace, draft(LOG, minutes=1))
    assert (result.chunks[0].decision, result.chunks[0].tree_key) == ("match_existing", ATLAS)
    assert entity_names(workspace) == ["Atlas"]


def test_a_new_name_that_is_known_already_is_a_match(
    workspace: Workspace, model: ScriptedModel
) -> None:
    know_atlas(workspace, model)
    model.answers["assignment"] = create("ＡＴＬＡＳ", evidence="Atlas gateway")
    [result] = remember(workspace, draft(LOG, minutes=1))
    assert (result.chunks[0].decision, result.chunks[0].tree_key) == ("match_existing", ATLAS)
    assert entity_names(workspace) == ["Atlas"]


def test_the_same_memory_in_other_words_makes_no_leaf(
    workspace: Workspace, model: ScriptedModel
) -> None:
    know_atlas(workspace, model)
    model.answers |= {"assignment": match_first(), "comparison": relate_to_first("same_memory")}
    [result] = remember(workspace, draft("Port 8443 is where Atlas listens.", minutes=1))
    [leaf] = leaves_of(workspace)
    assert (result.chunks[0].outcome, result.chunks[0].leaf_id) == ("noop_duplicate", leaf.id)


@pytest.mark.parametrize("relation", ["same_memory", "supersedes_existing"])
def test_a_relation_that_the_model_doubts_merges_nothing(
    workspace: Workspace, model: ScriptedModel, relation: str
) -> None:
    know_atlas(workspace, model)
    model.answers |= {
        "assignment": match_first(),
        "comparison": relate_to_first(relation, confidence=0.3),
    }
    [result] = remember(workspace, draft("Atlas also answers on port 9443.", minutes=1))
    assert result.chunks[0].outcome == "created"
    assert [leaf.status for leaf in leaves_of(workspace)] == ["active", "active"]


@pytest.mark.parametrize(
    ("minutes", "outcome", "statuses"),
    [(5, "superseding", ["superseded", "active"]), (-5, "created", ["superseded", "active"])],
)
def test_a_contradiction_is_settled_by_time_whichever_comes_first(
    workspace: Workspace,
    model: ScriptedModel,
    minutes: int,
    outcome: str,
    statuses: list[str],
) -> None:
    know_atlas(workspace, model)
    model.answers |= {
        "assignment": match_first(),
        "comparison": relate_to_first("supersedes_existing"),
    }
    [result] = remember(
        workspace, draft("The Atlas gateway listens on port 9443.", minutes=minutes)
    )
    assert result.chunks[0].outcome == outcome
    assert [leaf.status for leaf in leaves_of(workspace)] == statuses


# Shaped right, wrong inside.


def wrong_content() -> dict[str, Behaviour]:
    quoted = {"evidence": "The Atlas gateway"}
    two_ids = [str(uuid4()), str(uuid4())]
    missing = assignment()
    del missing["match_confidence"]
    both = new_entity("Atlas", **quoted)
    return {
        "unknown id": answer(
            assignment(action="match_existing", entity_id=str(uuid4()), match_confidence=0.99)
        ),
        "id that is no id": answer(
            assignment(action="match_existing", entity_id="' OR 1=1", match_confidence=0.99)
        ),
        "two primaries": answer(
            assignment(action="match_existing", entity_id=two_ids, match_confidence=0.99)
        ),
        "two new entities": answer(both | {"new_entity": [both["new_entity"]] * 2}),
        "confidence 7": create("Atlas", **quoted, create_confidence=7),
        "negative confidence": create("Atlas", **quoted, create_confidence=-0.9),
        "NaN": create("Atlas", **quoted, create_confidence=float("nan")),
        "NaN in quotes": create("Atlas", **quoted, create_confidence="NaN"),
        "number in quotes": create("Atlas", **quoted, create_confidence="0.9"),
        "infinity": create("Atlas", **quoted, create_confidence=float("inf")),
        "too sure of nothing": create("Atlas", **quoted, create_confidence=0.67),
        "missing confidence": answer(missing),
        "empty name": create("", **quoted),
        "blank name": create(" \u200b ", **quoted),
        "placeholder": create("Project", **quoted),
        "placeholder with an article": create("the service", **quoted),
        "Chinese placeholder": create("我们", **quoted),
        "number as a name": create("8443", evidence="8443"),
        "path as a name": create("../../etc", **quoted),
        "long name": create("Atlas" * 40, **quoted),
        "unknown type": answer(both | {"new_entity": {**both["new_entity"], "type": "gateway"}}),
        "quotation of nothing": create("Atlas", evidence=""),
        "invented quotation": create("Zephyr", evidence="The Zephyr gateway"),
    }


@pytest.mark.parametrize(
    "case",
    sampled(
        [*wrong_content(), *UNUSABLE],
        fast=("unknown id", "two primaries", "confidence 7", "NaN", "prose", "a list", "truncated"),
    ),
)
def test_a_broken_assignment_ends_in_the_fallback_tree(
    workspace: Workspace, model: ScriptedModel, case: str
) -> None:
    model.answers["assignment"] = (wrong_content() | UNUSABLE)[case]
    [result] = remember(workspace, draft(PORT))
    assert result.status == "processed", result.error
    assert [(c.decision, c.tree_key) for c in result.chunks] == [("fallback", UNCATEGORIZED)]
    assert len(leaves_of(workspace)) == 1
    assert entity_names(workspace) == []
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


def test_an_entity_of_another_workspace_is_no_match(
    workspace: Workspace, model: ScriptedModel
) -> None:
    other = create_workspace(workspace.tenant, slug=f"w-{uuid4().hex}", name="Another")
    know_atlas(other, model)
    foreign = str(leaves_of(other)[0].entity_id)
    model.answers["assignment"] = answer(
        assignment(action="match_existing", entity_id=foreign, match_confidence=0.99)
    )
    [result] = remember(workspace, draft(PORT))
    assert result.chunks[0].tree_key == UNCATEGORIZED
    assert model.documents("assignment")[-1]["candidates"] == []


def test_a_match_and_a_new_entity_at_once_give_one_leaf_in_the_matched_tree(
    workspace: Workspace, model: ScriptedModel
) -> None:
    know_atlas(workspace, model)
    both = new_entity("Borealis", evidence="Borealis", action="create_new")
    model.answers["assignment"] = match_first(
        **{key: both[key] for key in ("new_entity", "create_confidence")}
    )
    [result] = remember(workspace, draft("The Atlas gateway replaced Borealis.", minutes=1))
    assert [chunk.tree_key for chunk in result.chunks] == [ATLAS]
    assert entity_names(workspace) == ["Atlas"]


@pytest.mark.parametrize("wrap", [fenced, with_prose])
def test_a_good_answer_among_prose_is_used(
    workspace: Workspace, model: ScriptedModel, wrap: Callable[[object], Behaviour]
) -> None:
    value = new_entity("Atlas", evidence="The Atlas gateway")
    model.answers["assignment"] = wrap(value)
    [result] = remember(workspace, draft(PORT))
    assert result.chunks[0].tree_key == ATLAS


def test_a_broken_answer_is_asked_for_once_more(workspace: Workspace, model: ScriptedModel) -> None:
    replies = iter([garbage(), create("Atlas", evidence="The Atlas gateway")])
    model.answers["assignment"] = lambda request: next(replies)(request)
    [result] = remember(workspace, draft(PORT))
    assert result.chunks[0].tree_key == ATLAS
    assert model.purposes() == ["assignment", "assignment"]


@pytest.mark.parametrize(
    "case",
    sampled(["unknown leaf", "no leaf", *UNUSABLE], fast=("unknown leaf", "a list", "refusal")),
)
@pytest.mark.parametrize("relation", ["same_memory", "supersedes_existing"])
def test_a_broken_comparison_never_merges(
    workspace: Workspace, model: ScriptedModel, case: str, relation: str
) -> None:
    know_atlas(workspace, model)
    wrong = {
        "unknown leaf": answer({"relation": relation, "leaf_id": str(uuid4()), "confidence": 1}),
        "no leaf": answer({"relation": relation, "leaf_id": None, "confidence": 1}),
    }
    model.answers |= {"assignment": match_first(), "comparison": (wrong | UNUSABLE)[case]}
    [result] = remember(workspace, draft(LOG, minutes=1))
    assert [chunk.outcome for chunk in result.chunks] == ["created"]
    assert [leaf.status for leaf in leaves_of(workspace)] == ["active", "active"]
    assert_clean(workspace)


def test_an_echo_of_a_key_is_masked_before_it_is_stored(
    workspace: Workspace, model: ScriptedModel
) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6" * 4
    model.answers["assignment"] = create(
        "Atlas",
        evidence="The Atlas gateway",
        title=f"Key {key}",
        summary=f"The key is {key}",
        labels=[f"k {key[:30]}"],
        subject_key=f"atlas|{key}",
    )
    remember(workspace, draft(PORT))
    [leaf] = leaves_of(workspace)
    stored = f"{leaf.title} {leaf.summary} {leaf.labels} {leaf.subject_key}"
    assert key[:20].casefold() not in stored.casefold()

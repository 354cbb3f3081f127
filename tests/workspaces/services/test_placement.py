"""The decision table and the rules that no judge's answer gets past."""

import pytest

from workspaces.judging.base import Assignment, EntityCandidate, NewEntity
from workspaces.services.placement import Placement, is_usable_name, place
from workspaces.settings import WorkspaceSettings

TEXT = "The Atlas gateway listens on port 8443 and 支付网关 of Payments sits behind it."
ATLAS = EntityCandidate("a", "system", "Atlas gateway", ("the edge",), "", 0.9)
LEDGER = EntityCandidate("b", "system", "Ledger", (), "", 0.5)


def answer(**values: object) -> Assignment:
    base: dict[str, object] = {
        "action": "match_existing",
        "entity_id": None,
        "match_confidence": 0.0,
        "new_entity": None,
        "create_confidence": 0.0,
        "secondary": (),
        "title": "Port",
        "summary": "Port 8443",
        "labels": ("port",),
        "subject_key": "atlas port",
    }
    return Assignment(**{**base, **values})  # type: ignore[arg-type]


def placed(assignment: Assignment) -> Placement:
    return place(assignment, text=TEXT, candidates=(ATLAS, LEDGER), settings=WorkspaceSettings())


def new(name: str, *, type: str = "system", evidence: str = "port 8443") -> NewEntity:
    return NewEntity(type, name, evidence)


def test_a_confident_match_from_the_shortlist_owns_the_leaf() -> None:
    result = placed(answer(entity_id="a", match_confidence=0.6))
    assert (result.decision, result.entity_id) == ("match_existing", "a")


@pytest.mark.parametrize("confidence", [0.59, 7.0, -0.1, float("nan"), float("inf")])
def test_a_weak_or_impossible_match_confidence_falls_back(confidence: float) -> None:
    result = placed(answer(entity_id="a", match_confidence=confidence))
    assert (result.decision, result.entity_id, result.new_entity) == ("fallback", None, None)


def test_an_id_outside_the_shortlist_is_refused() -> None:
    assert placed(answer(entity_id="z", match_confidence=0.99)).decision == "fallback"


def test_a_failed_match_is_no_reason_to_create() -> None:
    weak = answer(
        entity_id="a", match_confidence=0.3, new_entity=new("Payments"), create_confidence=0.67
    )
    assert placed(weak).decision == "fallback"


def test_a_clear_new_subject_is_created() -> None:
    result = placed(answer(new_entity=new("Payments"), create_confidence=0.68))
    assert result.decision == "create_new"
    assert result.new_entity is not None
    assert result.new_entity.name == "Payments"


def test_the_table_wins_over_the_action_that_was_named() -> None:
    named = answer(action="create_new", entity_id="b", match_confidence=0.8)
    assert placed(named).entity_id == "b"
    assert placed(answer(action="match_existing")).decision == "fallback"


@pytest.mark.parametrize("name", ["ATLAS  Gateway", "the Edge", "Ａｔｌａｓ gateway"])
def test_a_new_name_that_is_known_is_a_match(name: str) -> None:
    result = placed(answer(new_entity=new(name), create_confidence=0.9))
    assert (result.decision, result.entity_id) == ("match_existing", "a")


@pytest.mark.parametrize(
    "entity",
    [
        new(""),
        new("  "),
        new("unknown"),
        new("The project".removeprefix("The ")),
        new("项目"),
        new("我们"),
        new("12345"),
        new("a/b"),
        new("x" * 200),
        new("\ufdfa" * 60),  # eighteen letters each once it is normalised
        new("Payments\u202e"),
        new("Payments", type="planet"),
        new("Payments", evidence=""),
        new("Payments", evidence="words that are not there"),
    ],
)
def test_placeholders_paths_and_unproven_subjects_are_not_created(entity: NewEntity) -> None:
    assert placed(answer(new_entity=entity, create_confidence=1.0)).decision == "fallback"


def test_evidence_is_found_in_chinese_and_across_white_space() -> None:
    proved = answer(new_entity=new("支付网关", evidence="支付网关 of"), create_confidence=0.9)
    assert placed(proved).decision == "create_new"


def test_secondary_entities_come_from_the_shortlist_and_leave_the_primary_out() -> None:
    result = placed(
        answer(entity_id="a", match_confidence=0.9, secondary=("Ledger", "Atlas gateway", "Nobody"))
    )
    assert result.secondary_ids == ("b",)


def test_an_empty_title_takes_the_text_cut_between_words() -> None:
    long = "word " * 60
    result = place(
        answer(title="", summary=""), text=long, candidates=(), settings=WorkspaceSettings()
    )
    assert result.title.endswith("word")
    assert len(result.title) <= 120


def test_names_of_real_things_are_usable() -> None:
    for name in ("C++", "支付网关", "AUTH-1287", "Mara Lindqvist", "monitor.internal:3000"):
        assert is_usable_name(name), name

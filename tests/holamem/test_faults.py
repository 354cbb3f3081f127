"""Crash points do nothing unless a test asks, and production refuses to be asked."""

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from holamem import faults
from holamem.environment import Environment, get_environment


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setattr(faults, "_reached", {})
    yield monkeypatch
    monkeypatch.undo()
    get_environment.cache_clear()


def ask_for(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv("HOLAMEM_FAULT", setting)
    get_environment.cache_clear()


def test_a_point_does_nothing_by_default() -> None:
    assert get_environment().fault == ""
    faults.point("leaf.after_file")


def test_a_point_acts_from_the_occurrence_that_was_asked_for(fault: pytest.MonkeyPatch) -> None:
    ask_for(fault, "leaf.after_file:raise@2")
    faults.point("leaf.after_file")
    faults.point("seal.after_file")
    for _ in range(2):
        with pytest.raises(faults.InjectedFault):
            faults.point("leaf.after_file")


def test_any_point_counts_where_the_name_does_not_matter(fault: pytest.MonkeyPatch) -> None:
    ask_for(fault, "any:raise@2")
    faults.point("leaf.after_file")
    with pytest.raises(faults.InjectedFault, match=r"seal\.after_file"):
        faults.point("seal.after_file")


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(ValueError, match="knows kill, raise, sleep"):
        faults.parse_fault("leaf.after_file:explode")


def test_production_refuses_a_fault() -> None:
    with pytest.raises(ValidationError, match="HOLAMEM_FAULT must be unset"):
        Environment(production=True, secret_key="s" * 50, fault="leaf.after_file:kill")

"""Fixtures of the API's tests."""

import pytest

from tests.api.client import Caller, Side, new_side


@pytest.fixture
def side() -> Side:
    return new_side()


@pytest.fixture
def api(side: Side) -> Caller:
    return side.caller


@pytest.fixture
def base(side: Side) -> str:
    return side.base

"""One world for all tests of this folder; those that change it come last in their files."""

import pytest

from tests.authz.world import Side, make_side

World = tuple[Side, Side]


@pytest.fixture(scope="session")
def world(django_db_setup: None) -> World:
    """The side whose memory is asked for, and the stranger's, which has the same of everything."""
    return make_side(), make_side()


@pytest.fixture
def mine(world: World) -> Side:
    return world[0]


@pytest.fixture
def theirs(world: World) -> Side:
    return world[1]

from collections.abc import Iterator

import pytest
from django.test import Client

from tests.dashboard.memory import FACTS, Filled, fill_workspace
from tests.dashboard.pages import Memory, one_leaf
from tests.dashboard.people import make_person, signed_in_client
from tests.verification import assert_clean
from tests.workspaces.memory import drain
from workspaces.models.tenancy import Tenant, Workspace


@pytest.fixture(scope="session")
def filled(django_db_setup: None) -> Filled:
    return fill_workspace()


@pytest.fixture
def owner(filled: Filled) -> Client:
    return signed_in_client(make_person(filled.tenant))


@pytest.fixture
def viewer(filled: Filled) -> Client:
    return signed_in_client(make_person(filled.tenant, role="viewer"))


@pytest.fixture
def stranger(tenant: object) -> Client:
    """A member of another tenant."""
    return signed_in_client(make_person(tenant))  # type: ignore[arg-type]


@pytest.fixture
def memory(tenant: Tenant, workspace: Workspace) -> Iterator[Memory]:
    """A memory of the test's own, which it may change; every invariant holds afterwards."""
    yield Memory(tenant, workspace, one_leaf(workspace, FACTS[0]))
    drain(workspace)
    assert_clean(workspace)


@pytest.fixture
def member(memory: Memory) -> Client:
    return signed_in_client(make_person(memory.tenant, role="member"))

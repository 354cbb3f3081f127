import pytest
from django.test import Client

from tests.dashboard.memory import Filled, fill_workspace
from tests.dashboard.people import make_person, signed_in_client


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

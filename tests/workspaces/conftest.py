"""Modules here write memory: each ends with a check of every invariant."""

from collections.abc import Iterator

import pytest

from tests.verification import verify_what_the_module_wrote


@pytest.fixture(scope="module", autouse=True)
def verified_memory(request: pytest.FixtureRequest, django_db_setup: None) -> Iterator[None]:
    yield from verify_what_the_module_wrote(request)

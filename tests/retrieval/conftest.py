import pytest

from tests.retrieval.factories import MemoryMaker
from workspaces.models.tenancy import Workspace


@pytest.fixture
def memory(workspace: Workspace) -> MemoryMaker:
    return MemoryMaker(workspace)


@pytest.fixture
def words_only(workspace: Workspace) -> MemoryMaker:
    """Memory without vectors: quick, and what is left when embedding is behind."""
    return MemoryMaker(workspace, with_vectors=False)

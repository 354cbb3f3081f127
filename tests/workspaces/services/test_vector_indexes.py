"""A large scope has a vector index of its own, which finds what the exact search finds."""

import random
from collections.abc import Iterator
from uuid import UUID

import pytest

from holamem.database import prepared
from holamem.database.scope import system_scope, workspace_scope
from holamem.ids import new_id
from workspaces.index import near, scale
from workspaces.index.embedding import current_model
from workspaces.index.near import NearIndex, forget_known, near_indexes
from workspaces.index.search import NodeFilter, SearchInput, search_nodes
from workspaces.models.index import VectorEntry
from workspaces.models.tenancy import Workspace
from workspaces.services import vector_indexes
from workspaces.services.vector_indexes import maintain_vector_indexes

pytestmark = pytest.mark.slow  # builds and drops real indexes

MANY = 400


def unit(chance: random.Random) -> list[float]:
    values = [chance.gauss(0, 1) for _ in range(384)]
    length = sum(value * value for value in values) ** 0.5
    return [value / length for value in values]


@pytest.fixture
def large(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """400 vectors are many here; nodes are not needed to look at the search's own statement."""
    monkeypatch.setattr(vector_indexes, "INDEXED_FROM", MANY)
    monkeypatch.setattr(vector_indexes, "KEPT_FROM", MANY // 2)
    monkeypatch.setattr(vector_indexes, "_rows_about", lambda: MANY)
    chance = random.Random(4)
    with workspace_scope(workspace):
        VectorEntry.objects.bulk_create(entry(workspace, unit(chance)) for _ in range(MANY))
    yield workspace
    with system_scope():
        VectorEntry.objects.filter(workspace=workspace).delete()
    maintain_vector_indexes()


def entry(workspace: Workspace, vector: list[float], *, kind: str = "leaf") -> VectorEntry:
    return VectorEntry(
        workspace=workspace,
        scope_id=workspace.pk,
        node_id=new_id(),
        tree_id=workspace.pk,
        kind=kind,
        status="active",
        model=current_model(),
        source_sha256="0" * 64,
        embedding=vector,
    )


def index_of(workspace: Workspace, *, kind: str = "leaf") -> NearIndex:
    model = current_model()
    return NearIndex(workspace.pk, workspace.pk, kind, model.pk, model.dimension)


def known(workspace: Workspace) -> tuple[NearIndex, ...]:
    forget_known()
    return near_indexes(workspace.pk, scopes=[workspace.pk], model=current_model().name)


def test_it_comes_with_growth_and_goes_when_the_scope_shrinks(large: Workspace) -> None:
    assert maintain_vector_indexes() == [index_of(large).name]
    assert known(large) == (index_of(large),)
    assert maintain_vector_indexes() == []

    remove(large, keep=MANY // 2)
    assert maintain_vector_indexes() == []
    remove(large, keep=MANY // 2 - 1)
    assert maintain_vector_indexes() == [index_of(large).name]
    assert known(large) == ()


def test_of_summaries_half_as_many_are_enough(large: Workspace) -> None:
    chance = random.Random(6)
    with workspace_scope(large):
        VectorEntry.objects.bulk_create(
            entry(large, unit(chance), kind="summary") for _ in range(MANY // 2)
        )
    both = {index_of(large).name, index_of(large, kind="summary").name}
    assert set(maintain_vector_indexes()) == both


def remove(workspace: Workspace, *, keep: int) -> None:
    with system_scope():
        ids: list[UUID] = list(
            VectorEntry.objects.filter(workspace=workspace)
            .order_by("id")
            .values_list("id", flat=True)
        )
        VectorEntry.objects.filter(id__in=ids[keep:]).delete()


def test_what_a_killed_build_left_is_built_again(large: Workspace) -> None:
    maintain_vector_indexes()
    name = index_of(large).name
    real = vector_indexes._existing
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_indexes, "_existing", lambda: {**real(), name: False})
        assert maintain_vector_indexes() == [name, name]
    assert known(large) == (index_of(large),)


def test_the_planner_takes_it_and_it_finds_what_is_nearest(
    large: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    maintain_vector_indexes()
    forget_known()
    vector = unit(random.Random(5))
    exact = nearest(large, vector)
    monkeypatch.setattr(scale, "LARGE_FROM", 0)
    monkeypatch.setattr(near, "KNOWN_SECONDS", 0.0)
    nearest(large, vector)  # the memory's size is learnt
    sent = statements(monkeypatch)

    by_index = nearest(large, vector)

    assert index_of(large).condition("v") in sent[-1]
    assert len(exact) == 40
    assert len(exact & by_index) >= 38


def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    real = prepared.fetch_rows

    def recording(statement: str, values: dict[str, object]) -> list[tuple[object, ...]]:
        sent.append(statement)
        return real(statement, values)

    monkeypatch.setattr(prepared, "fetch_rows", recording)
    return sent


def nearest(workspace: Workspace, vector: list[float]) -> set[UUID]:
    asked = SearchInput(
        terms=(),
        vectors=(vector,),
        model_name=current_model().name,
        leaf_limit=40,
        summary_limit=10,
    )
    found = search_nodes(workspace, scopes=None, search=asked, where=NodeFilter())
    return {node.node_id for node in found.nodes}

"""Vectors of two models are not comparable, so only one model is ever in use."""

from types import SimpleNamespace

import pytest

from workspaces.index import embedding
from workspaces.index.embedding import EmbeddingMismatch, check_configured_model, current_model


def configure(monkeypatch: pytest.MonkeyPatch, *, name: str, dimension: int) -> None:
    client = SimpleNamespace(model_name=name, dimension=dimension)
    monkeypatch.setattr(embedding, "embedder", lambda: client)


def test_the_model_whose_vectors_are_stored_may_start() -> None:
    stored = current_model()
    check_configured_model()
    client = embedding.embedder()
    assert (stored.name, stored.dimension) == (client.model_name, client.dimension)


def test_another_model_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = current_model()
    configure(monkeypatch, name="another model", dimension=stored.dimension)

    with pytest.raises(EmbeddingMismatch, match=f"{stored.name}.*another model.*manage.py reembed"):
        check_configured_model()


def test_a_stored_model_of_another_dimension_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = current_model()
    configure(monkeypatch, name=stored.name, dimension=stored.dimension + 1)

    with pytest.raises(EmbeddingMismatch, match="385 dimensions"):
        current_model.__wrapped__()

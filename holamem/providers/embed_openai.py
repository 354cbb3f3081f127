"""Embeddings from any server that speaks the OpenAI embeddings protocol."""

import json
import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import httpx2

from holamem.errors import ProviderError
from holamem.providers.attempts import RequestRefused, call_with_retries
from holamem.providers.transport import Deadline, openai_client
from holamem.providers.vectors import (
    BatchRefused,
    QueryCache,
    Vector,
    clean_query,
    embed_isolating,
    unit_vector,
)

BATCH_TEXTS = 64
MAX_REPLY_BYTES = 16 * 1024 * 1024  # 64 vectors of 4,096 floats in JSON are about 6 MB
PASSAGES_SECONDS = 60.0  # for one batch with its retries
QUERY_SECONDS = 20.0  # somebody waits
PROBE_TEXT = "dimension"


class OpenAIEmbedder:
    """The dimension is what the first reply has; a later reply of another dimension is refused."""

    def __init__(
        self,
        *,
        model_name: str,
        api_key: str | None = None,
        base_url: str | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model_name = model_name
        self._client = openai_client(api_key, base_url)
        self._pause = pause
        self._cache = QueryCache()
        self._dimension: int | None = None
        self._lock = Lock()

    @property
    def dimension(self) -> int:
        return self._dimension or self.probe()

    def probe(self) -> int:
        """Ask the service for one vector and return its length. Raises ProviderError."""
        return len(self._embed([PROBE_TEXT], QUERY_SECONDS)[0])

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return embed_isolating(texts, self._embed_batch, batch_size=BATCH_TEXTS)

    def embed_query(self, text: str) -> Vector:
        return self._cache.get(clean_query(text), self._embed_query)

    def _embed_query(self, text: str) -> Vector:
        return self._embed([text], QUERY_SECONDS)[0]

    def _embed_batch(self, texts: Sequence[str]) -> list[Vector]:
        return self._embed(texts, PASSAGES_SECONDS)

    def _embed(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        try:
            body = self._send(texts, Deadline.after(seconds))
        except RequestRefused as refusal:
            raise BatchRefused(refusal.message, detail=refusal.detail) from None
        vectors = [unit_vector(values) for values in _ordered_rows(body, len(texts))]
        for vector in vectors:
            self._check_dimension(len(vector))
        return vectors

    def _send(self, texts: Sequence[str], deadline: Deadline) -> str:
        create: Any = self._client.embeddings.with_raw_response.create

        def call(timeout: httpx2.Timeout) -> str:
            # Without the format the client asks for base64, which few other servers know.
            reply = create(
                model=self.model_name, input=list(texts), encoding_format="float", timeout=timeout
            )
            return str(reply.text)

        return call_with_retries(
            call, deadline=deadline, reply_bytes=MAX_REPLY_BYTES, pause=self._pause
        )

    def _check_dimension(self, found: int) -> None:
        with self._lock:
            self._dimension = self._dimension or found
            expected = self._dimension
        if found != expected:
            raise ProviderError(
                f"The embedding service returned {found} dimensions in place of {expected}.",
                detail={"kind": "dimension", "expected": expected, "found": found},
            )


def _ordered_rows(body: str, count: int) -> list[Any]:
    """`count` raw vectors in the order of the texts; servers may answer in any order."""
    try:
        rows = json.loads(body)["data"]
        by_index = {
            row.get("index", position): row["embedding"] for position, row in enumerate(rows)
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _wrong_reply("unreadable") from None
    if len(rows) != count or set(by_index) != set(range(count)):
        raise _wrong_reply("count")
    return [by_index[index] for index in range(count)]


def _wrong_reply(kind: str) -> BatchRefused:
    return BatchRefused(
        f"The reply of the embedding service could not be used ({kind}).", detail={"kind": kind}
    )

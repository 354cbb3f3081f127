"""What the rest of the product may ask of a model service."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one structured answer, a repair included. `estimated`: the service sent no count."""

    input_tokens: int
    output_tokens: int
    estimated: bool

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class StructuredReply(Generic[Reply]):
    """`rung`: how the answer was asked for: `json_schema`, `json_object` or `plain`."""

    value: Reply
    usage: Usage
    rung: str


class Embedder(Protocol):
    @property
    def model_name(self) -> str: ...

    @property
    def dimension(self) -> int:
        """Floats per vector. May ask the service once; then raises ProviderError."""

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """len(texts) vectors in the order of the texts, `dimension` floats each, unit length.

        A blank text, and a text that the model refuses by itself, has an EMPTY list in its
        place, so that one bad text does not cost the others their vectors.
        No texts: an empty list. Raises ProviderError when none of the texts could be embedded.
        """

    def embed_query(self, text: str) -> list[float]:
        """`dimension` floats, unit length. Raises ProviderError, also for a blank text."""


class ChatModel(Protocol):
    @property
    def model_name(self) -> str: ...

    def complete_structured(
        self,
        *,
        system: str,
        user: str,
        schema: type[Reply],
        purpose: str,
        deadline_seconds: float = 60,
    ) -> StructuredReply[Reply]:
        """One answer that passes `schema`, within `deadline_seconds` for everything.

        Raises ProviderError (no answer), MalformedReply (an answer of no use; `detail` holds
        `kind`, `input_tokens`, `output_tokens`, `estimated`).
        """

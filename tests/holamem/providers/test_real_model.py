from collections.abc import Iterator
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from holamem.providers import registry
from holamem.providers.chat_openai import OpenAIChat
from tests.llm_server import llm_server, missing_package

REASON = missing_package()

pytestmark = [
    pytest.mark.llm,
    pytest.mark.skipif(REASON is not None, reason=REASON or ""),
]


class Colour(BaseModel):
    colour: Literal["red", "green", "blue"]
    reason: str = Field(max_length=30)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    registry.reset()
    with llm_server() as url:
        yield url
    registry.reset()


def test_a_real_server_answers_by_the_schema(base_url: str) -> None:
    chat = OpenAIChat(model_name="smollm2", base_url=base_url)

    reply = chat.complete_structured(
        system="You answer with JSON.",
        user="Which colour has the grass?",
        schema=Colour,
        purpose="colour",
        deadline_seconds=60,
    )

    assert reply.rung == "json_schema"
    assert reply.value.colour in {"red", "green", "blue"}
    assert len(reply.value.reason) <= 30
    assert not reply.usage.estimated
    assert reply.usage.output_tokens > 0

from collections.abc import Callable, Iterator

import pytest

from holamem.environment import Environment
from holamem.errors import Unavailable
from holamem.providers import registry
from holamem.providers.embed_local import LocalEmbedder
from holamem.providers.embed_openai import OpenAIEmbedder

Configure = Callable[..., None]


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Configure]:
    def apply(**values: object) -> None:
        environment = Environment.model_validate(values)
        monkeypatch.setattr(registry, "get_environment", lambda: environment)
        registry.reset()

    yield apply
    registry.reset()


def test_the_local_embedder_is_built_once(configure: Configure) -> None:
    configure(embedding="local", embedding_threads=1)

    assert isinstance(registry.embedder(), LocalEmbedder)
    assert registry.embedder() is registry.embedder()


def test_without_a_chat_model_there_is_none(configure: Configure) -> None:
    configure(chat_model="")

    assert registry.chat_model() is None


def test_the_configured_services_are_used(configure: Configure) -> None:
    configure(
        embedding="openai",
        embedding_model="bge-m3",
        chat_model="small-chat",
        openai_base_url="http://127.0.0.1:9/v1",
    )

    chat = registry.chat_model()

    assert isinstance(registry.embedder(), OpenAIEmbedder)
    assert registry.embedder().model_name == "bge-m3"
    assert chat is not None
    assert chat.model_name == "small-chat"
    assert registry.chat_model() is chat


def test_a_missing_embedding_model_says_what_to_set(configure: Configure) -> None:
    configure(embedding="openai", embedding_model="")

    with pytest.raises(Unavailable, match="HOLAMEM_EMBEDDING_MODEL"):
        registry.embedder()

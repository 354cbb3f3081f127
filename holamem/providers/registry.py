"""The model services of this process, built once from the environment."""

import os
from functools import cache
from urllib.parse import urlsplit

from holamem.environment import get_environment
from holamem.errors import Unavailable
from holamem.providers.base import ChatModel, Embedder
from holamem.providers.capabilities import forget_all
from holamem.providers.chat_openai import OpenAIChat
from holamem.providers.embed_local import LocalEmbedder
from holamem.providers.embed_openai import OpenAIEmbedder
from holamem.providers.transport import DEFAULT_BASE_URL


@cache
def embedder() -> Embedder:
    """Loads no model and calls no service yet. Raises Unavailable when a setting is missing."""
    environment = get_environment()
    if environment.embedding == "local":
        return LocalEmbedder(threads=environment.embedding_threads)
    if not environment.embedding_model:
        raise Unavailable("HOLAMEM_EMBEDDING=openai also needs HOLAMEM_EMBEDDING_MODEL.")
    return OpenAIEmbedder(
        model_name=environment.embedding_model,
        api_key=api_key(),
        base_url=environment.openai_base_url,
    )


def chat_model() -> ChatModel | None:
    """None when no chat model is configured; memory then works by its offline rules."""
    name = get_environment().chat_model
    return chat_model_named(name) if name else None


@cache
def chat_model_named(name: str) -> ChatModel:
    """A model of the configured service that an agent names for itself."""
    environment = get_environment()
    return OpenAIChat(
        model_name=name,
        api_key=api_key(),
        base_url=environment.openai_base_url,
        max_deadline_seconds=environment.chat_deadline_seconds,
    )


def chat_provider() -> str:
    """The host that answers chat calls, as `host` or `host:port`: what a circuit is kept for."""
    address = urlsplit(get_environment().openai_base_url or DEFAULT_BASE_URL)
    host = address.hostname or "unknown"
    return f"{host}:{address.port}" if address.port else host


def reset() -> None:
    """Forget the built services and what was learnt about them. For tests and after a fork."""
    embedder.cache_clear()
    chat_model_named.cache_clear()
    forget_all()


def api_key() -> str | None:
    key = get_environment().openai_api_key
    return key.get_secret_value() if key else None


# A forked worker must not share the sockets of its parent's connection pools.
os.register_at_fork(after_in_child=reset)

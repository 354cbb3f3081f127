"""The model services of this process, built once from the environment."""

import os
from functools import cache

from holamem.environment import get_environment
from holamem.errors import Unavailable
from holamem.providers.base import ChatModel, Embedder
from holamem.providers.capabilities import forget_all
from holamem.providers.chat_openai import OpenAIChat
from holamem.providers.embed_local import LocalEmbedder
from holamem.providers.embed_openai import OpenAIEmbedder


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
        api_key=_api_key(),
        base_url=environment.openai_base_url,
    )


@cache
def chat_model() -> ChatModel | None:
    """None when no chat model is configured; memory then works by its offline rules."""
    environment = get_environment()
    if not environment.chat_model:
        return None
    return OpenAIChat(
        model_name=environment.chat_model,
        api_key=_api_key(),
        base_url=environment.openai_base_url,
        max_deadline_seconds=environment.chat_deadline_seconds,
    )


def reset() -> None:
    """Forget the built services and what was learnt about them. For tests and after a fork."""
    embedder.cache_clear()
    chat_model.cache_clear()
    forget_all()


def _api_key() -> str | None:
    key = get_environment().openai_api_key
    return key.get_secret_value() if key else None


# A forked worker must not share the sockets of its parent's connection pools.
os.register_at_fork(after_in_child=reset)

"""A client of holamem's REST API: no Django, no database, no model.

from holamem.client import Memory
"""

from holamem.client.async_memory import AsyncMemory
from holamem.client.chats.messages import NoMessages, UnreadableChats
from holamem.client.chats.plan import ChatOptions, ChatPreview, preview_chats
from holamem.client.chats.sending import ImportReport
from holamem.client.connection import Connection
from holamem.client.errors import (
    ApiError,
    BadAnswer,
    ClientError,
    Conflict,
    InvalidRequest,
    NotAuthenticated,
    NotConfigured,
    NotFound,
    NotPermitted,
    RateLimited,
    ServerFailed,
    Unreachable,
)
from holamem.client.memory import Memory

__all__ = [
    "ApiError",
    "AsyncMemory",
    "BadAnswer",
    "ChatOptions",
    "ChatPreview",
    "ClientError",
    "Conflict",
    "Connection",
    "ImportReport",
    "InvalidRequest",
    "Memory",
    "NoMessages",
    "NotAuthenticated",
    "NotConfigured",
    "NotFound",
    "NotPermitted",
    "RateLimited",
    "ServerFailed",
    "Unreachable",
    "UnreadableChats",
    "preview_chats",
]

"""Tells a named person from a role or a program in an event's actor."""

import re

from workspaces.judging.reading import cleaned

_ROLES = re.compile(
    r"^(?:user|human|me|assistant|agent|ai|bot|system|tools?|function|model|customer|client|admin|owner|member"
    r"|operator|guest|anonymous|unknown|none|用户|助手|助理|系统|工具|客户|管理员|机器人|访客)\d*$"
    r"|(?:bot|assistant|agent|tool|gpt|助手|机器人)$|[@_/\\:]|\d",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"(?:[A-Z][\w.'’-]*)(?: [A-Z][\w.'’-]*){0,3}|[\u4e00-\u9fff]{2,4}(?:·[\u4e00-\u9fff]{1,6})?"
)


def is_person(actor: str) -> bool:
    """True for a name such as "Ana" or "林晓雯", false for "user", "ops-bot" and ids."""
    name = cleaned(actor)
    return bool(_PERSON.fullmatch(name)) and not _ROLES.search(name)

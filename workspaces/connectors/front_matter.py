"""The head of a markdown file: what it says about itself, apart from its text."""

import re
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo
from typing import Any

import yaml

from holamem.text.normalise import is_blank

MAX_CHARACTERS = 4_096
MAX_BRACKETS = 200  # each open one makes every further character dearer to read
TITLE_CHARACTERS = 200
TITLE_KEYS = ("title", "标题")
DATE_KEYS = ("date", "日期")
_HEAD = re.compile(r"---[ \t]*\r?\n(.*?\r?\n)?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_CHINESE_DATE = re.compile(r"\s*(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日\s*")


class _NoAliases(yaml.SafeLoader):
    """A few aliases of aliases can stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: Hashable) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Document:
    """`text` opens with the title, and keeps what else the head said; nothing is lost.

    `dated` is None where the head names no usable time.
    """

    text: str
    title: str
    dated: datetime | None


def read_document(content: str, *, zone: tzinfo) -> Document:
    """A head that is no mapping, too long or not YAML is part of the text."""
    found = _HEAD.match(content[: MAX_CHARACTERS + 10])
    head = _parsed(found.group(1) or "") if found else None
    if found is None or head is None:
        return Document(content, "", None)
    body = content[found.end() :]
    title = _taken(head, TITLE_KEYS, _as_title) or ""
    dated = _taken(head, DATE_KEYS, lambda value: _as_moment(value, zone=zone))
    parts = [_heading(title, body=body), _rest(head), body.strip("\r\n")]
    return Document("\n\n".join(part for part in parts if part), title, dated)


def _parsed(head: str) -> dict[Any, Any] | None:
    if head.count("[") + head.count("{") > MAX_BRACKETS:
        return None
    try:
        found = yaml.load(head, Loader=_NoAliases)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if found is None:
        return {}
    return found if isinstance(found, dict) else None


def _taken(head: dict[Any, Any], keys: tuple[str, ...], convert: Any) -> Any:
    """The first usable value under one of these names, which then leaves the head."""
    for key in list(head):
        if isinstance(key, str) and key.casefold() in keys:
            value = convert(head[key])
            if value is not None:
                del head[key]
                return value
    return None


def _as_title(value: object) -> str | None:
    title = " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
    fits = 0 < len(title) <= TITLE_CHARACTERS and title.isprintable() and not is_blank(title)
    return title if fits else None


def _as_moment(value: object, *, zone: tzinfo) -> datetime | None:
    """A day is its beginning in the zone; a time without a zone is in it too."""
    try:
        moment = _as_datetime(value)
        return moment and (moment if moment.tzinfo else moment.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        return None


def _as_datetime(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time.min)
    if not isinstance(value, str):
        return None
    chinese = _CHINESE_DATE.fullmatch(value)
    if chinese:
        year, month, day = map(int, chinese.groups())
        return datetime(year, month, day)  # noqa: DTZ001 - the caller gives it the zone
    return datetime.fromisoformat(value.strip())


def _heading(title: str, *, body: str) -> str:
    """Left out where the text opens with it anyway."""
    first = body.strip().partition("\n")[0].strip("# \t\r")
    return "" if not title or first.casefold() == title.casefold() else f"# {title}"


def _rest(head: dict[Any, Any]) -> str:
    if not head:
        return ""
    return yaml.safe_dump(head, allow_unicode=True, sort_keys=False, width=10_000).strip()

"""What every connector is: a name, settings that it checks, and pages of what changed.

A connector reads one outside system and knows no database. What it yields becomes events; the
framework commits each page together with the cursor that follows it, so that a pass which is cut
off goes on behind the last page that was kept.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Protocol

from holamem.errors import Conflict
from holamem.text.normalise import find_forbidden, is_blank
from holamem.text.secrets import mask_secrets

NAME_CHARACTERS = 300  # what an event's external id holds
TEXT_BYTES = 1_000_000  # what an event's text may have
FEW_DELETIONS = 9  # so many are never held, unless nothing at all is left
USUAL_SHARE = 0.5
TEXT_PROBLEMS = {
    "null_character": "The text holds a null character.",
    "lone_surrogate": "The text is not UTF-8.",
    "tag_character": "The text holds invisible tag characters.",
}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Item:
    """An object as it is now. `version` marks this state of it; the same mark means unchanged.

    `occurred_at` is aware, or None where the source does not say.
    """

    external_id: str
    text: str
    version: str
    occurred_at: datetime | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """An object that could not be read this time; what is known of it stays as it is."""

    external_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of a whole pass, across its interruptions. `total` is None while it is not known."""

    seen: int = 0
    changed: int = 0
    deleted: int = 0
    failed: int = 0
    total: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Page:
    """`unchanged` maps objects whose content stayed but whose mark did not to the new mark.

    `cursor` is what a pass that is cut off behind this page starts with, and empty on the last.
    """

    progress: Progress
    cursor: Mapping[str, Any]
    items: tuple[Item, ...] = ()
    deletions: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    unchanged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scan:
    """One pass. `known` holds the marks of the objects that were there the last time.

    `zone` is that of the workspace, for times that name none; `tenant` is a slug.
    `allow_deletions`: a person said that what is gone at the source is meant to be gone.
    """

    settings: Mapping[str, Any]
    tenant: str
    zone: tzinfo
    cursor: Mapping[str, Any] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    allow_deletions: bool = False


class DeletionsHeld(Conflict):
    """A source that looks emptied: nothing was deleted, and somebody has to say whether it is so."""

    code = "deletions_held"

    def __init__(self, *, gone: int, known: int) -> None:
        super().__init__(
            f"{gone} of {known} objects are gone at the source. None was deleted here: sync again"
            " with allow_deletions if they are meant to be gone.",
            detail={"gone": gone, "known": known},
        )


def hold_deletions(scan: Scan, *, gone: int, is_empty: bool) -> None:
    """Before the first deletion of a pass. Raises DeletionsHeld for what looks like an accident.

    A folder that is not mounted is an empty one; half of many objects do not go unnoticed.
    """
    known = len(scan.known)
    is_unlikely = is_empty or (gone > FEW_DELETIONS and gone > known * USUAL_SHARE)
    if gone and is_unlikely and not scan.allow_deletions:
        raise DeletionsHeld(gone=gone, known=known)


def problem_of(item: Item) -> str | None:
    """Why this cannot be an event, in words for people; None when it can."""
    if not item.external_id or len(item.external_id) > NAME_CHARACTERS:
        return f"The name has more than {NAME_CHARACTERS} characters, or none."
    if find_forbidden(item.external_id) or _CONTROLS.search(item.external_id):
        return "The name holds control characters."
    if mask_secrets(item.external_id).kinds:
        return "The name holds a secret."
    if is_blank(item.text):
        return "There is no text."
    if len(item.text.encode("utf-8", "replace")) > TEXT_BYTES:
        return f"The text is larger than {TEXT_BYTES} bytes."
    return TEXT_PROBLEMS.get(find_forbidden(item.text) or "")


class ConnectorKind(Protocol):
    """`name` is what an integration names as its kind."""

    name: str

    def validate_settings(self, settings: Mapping[str, Any], *, tenant: str) -> dict[str, Any]:
        """The settings as they are stored. Raises InvalidInput naming `settings…`."""

    def fetch(self, scan: Scan) -> Iterator[Page]:
        """Pages in order, the last one with an empty cursor.

        Raises Unavailable when the source as a whole cannot be read: then nothing was deleted.
        Calls `hold_deletions` before the first page that has any.
        """

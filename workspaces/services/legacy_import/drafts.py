"""From a legacy file to events: one for each section, named so that a second run adds nothing."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo

from holamem.clock import offset_minutes
from holamem.text.normalise import normalise_name
from workspaces.models.log import Event
from workspaces.services.intake import EVENT_TEXT_BYTES, EventDraft
from workspaces.services.legacy_import.dates import date_of_front_matter, date_of_title, past
from workspaces.services.legacy_import.files import LegacyFile
from workspaces.services.legacy_import.index_lines import without_pointers
from workspaces.services.legacy_import.sections import (
    Section,
    is_content,
    split_long,
    split_sections,
)

EXTERNAL_ID_CHARACTERS = 300
PART_BYTES = EVENT_TEXT_BYTES // 2  # headings and a topic come on top
_PREFERENCES = re.compile(r"\b(?:preferences?|likes|dislikes)\b|偏好|喜好|喜欢|习惯", re.IGNORECASE)
_IDENTITY = re.compile(
    r"\b(?:identity|about (?:me|the user|you)|who (?:i am|you are)|user profile)\b"
    r"|身份|关于我|关于用户|用户画像|个人信息|自我介绍",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Naming:
    """Whose events they become, and under which name."""

    source: str
    user_id: str | None


def drafts_of(
    file: LegacyFile, *, naming: Naming, zone: tzinfo, now: datetime
) -> Iterator[EventDraft]:
    """In the order of the file. Text that cannot be an event is the caller's to refuse."""
    seen: Counter[str] = Counter()
    for section in split_sections(file.markdown):
        body = without_pointers(section.body) if file.is_index else section.body
        if not is_content(body):
            continue
        anchor = _anchor(section, seen=seen)
        occurred_at = _moment(section, file=file, zone=zone, now=now)
        for number, part in enumerate(split_long(body, max_bytes=PART_BYTES), 1):
            yield _draft(
                Section(section.headings, part),
                file=file,
                naming=naming,
                anchor=anchor if number == 1 else f"{anchor}~{number}",
                occurred_at=occurred_at,
            )


def _draft(
    section: Section, *, file: LegacyFile, naming: Naming, anchor: str, occurred_at: datetime
) -> EventDraft:
    return EventDraft(
        kind=_kind(section, file=file),
        text=_with_topic(section.text, topic=file.topic),
        occurred_at=occurred_at,
        offset_minutes=offset_minutes(occurred_at),
        user_id=naming.user_id,
        source=naming.source,
        external_id=external_id(f"{file.path}#{anchor}"),
        admission="accepted",
        metadata={
            "path": file.path,
            "headings": [heading.title for heading in section.headings],
        },
    )


def _kind(section: Section, *, file: LegacyFile) -> str:
    """Daily notes are somebody's words; the rest is what was distilled from such words."""
    titles = [file.topic, *(heading.title for heading in section.headings)]
    if any(_PREFERENCES.search(title) for title in titles):
        return Event.Kind.ACCEPTED_PREFERENCE
    if any(_IDENTITY.search(title) for title in titles):
        return Event.Kind.ACCEPTED_IDENTITY
    return Event.Kind.USER_MESSAGE if file.is_daily else Event.Kind.DISTILLED_STATEMENT


def _with_topic(text: str, *, topic: str) -> str:
    """In the old layout the file's name was the subject, and its lines need not repeat it."""
    if not topic or normalise_name(topic) in normalise_name(text):
        return text
    return f"# {topic}\n\n{text}"


def _moment(section: Section, *, file: LegacyFile, zone: tzinfo, now: datetime) -> datetime:
    """The closest date: of a heading from the inside out, of the file's head, of its name."""
    found = [date_of_title(heading.title, zone=zone) for heading in reversed(section.headings)]
    found.append(date_of_front_matter(file.front_matter, zone=zone))
    found.append(date_of_title(file.stem, zone=zone))
    dated = (past(moment, now=now) for moment in found)
    return next((moment for moment in dated if moment is not None), min(file.modified_at, now))


def _anchor(section: Section, *, seen: Counter[str]) -> str:
    """The titles above it; sections of the same titles are numbered."""
    titles = [normalise_name(heading.title).replace(" ", "-") for heading in section.headings]
    anchor = "/".join(titles)
    seen[anchor] += 1
    return anchor if seen[anchor] == 1 else f"{anchor}-{seen[anchor]}"


def external_id(name: str) -> str:
    """A name that is too long ends in its digest."""
    if len(name) <= EXTERNAL_ID_CHARACTERS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:32]
    return f"{name[: EXTERNAL_ID_CHARACTERS - 33]}~{digest}"

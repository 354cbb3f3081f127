"""Steps 5 and 6 of the write path: a judge's assignment becomes a placement that obeys the rules.

Three separate confidences and one table decide; where a judge's action disagrees with its own
confidences, the table wins. A failed match is never a reason to create an entity.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from holamem.text.normalise import normalise, normalise_name
from workspaces.judging.base import Assignment, EntityCandidate
from workspaces.judging.placeholders import is_placeholder
from workspaces.judging.relations_told import is_relation
from workspaces.models.entities import Entity
from workspaces.models.log import Chunk
from workspaces.settings import WorkspaceSettings

TITLE_CHARACTERS = 120
SUMMARY_CHARACTERS = 500
NAME_CHARACTERS = 120
SUBJECT_CHARACTERS = 200
MAX_LABELS = 8
MAX_SECONDARY = 8
MAX_RELATIONS = 2

_FORBIDDEN_IN_NAMES = re.compile(r"[\x00-\x1f/\\\u202a-\u202e\u2066-\u2069<>\[\]{}|]")
_LATIN_WORD = re.compile(r"[^\W\u3400-\u9fff]+[+#]*")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_ENGLISH_TITLE = re.compile(r"^(?:mr|mrs|ms|miss|mx|dr|prof|professor|sir|madam) ")
_CHINESE_TITLE = re.compile(
    r"(?<=[\u4e00-\u9fff]{2})(?:先生|女士|小姐|老师|教授|医生|经理|总监|主任|同学|师傅)$"
)


@dataclass(frozen=True, slots=True)
class NewEntityPlan:
    """An entity that is made with the leaf; id and slug come from us, never from a judge.

    `aliases` are relations of the speaker: 我的上司, my boss.
    """

    type: str
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """Exactly one of `entity_id` and `new_entity` is set, or neither for the fallback bucket."""

    decision: str
    entity_id: str | None
    new_entity: NewEntityPlan | None
    match_confidence: float
    create_confidence: float
    secondary_ids: tuple[str, ...]
    title: str
    summary: str
    labels: tuple[str, ...]
    subject_key: str


def place(
    assignment: Assignment,
    *,
    text: str,
    candidates: Sequence[EntityCandidate],
    settings: WorkspaceSettings,
    actor: str = "",
) -> Placement:
    """Validate against shortlist, types, names and evidence, and apply the decision table.

    A new entity is named in the text, or is the `actor`.
    """
    shortlist = {candidate.entity_id: candidate for candidate in candidates}
    match = _confidence(assignment.match_confidence)
    create = _confidence(assignment.create_confidence)
    wanted = assignment.entity_id if assignment.entity_id in shortlist else None
    new = _valid_new_entity(assignment, text=text)
    decision, entity_id, plan = Chunk.Decision.FALLBACK, None, None
    if wanted is not None and match >= settings.match_threshold:
        decision, entity_id = Chunk.Decision.MATCH_EXISTING, wanted
    elif new is not None and create >= settings.create_threshold:
        entity_id = _entity_with_name(new.name, candidates=candidates)
        if entity_id:
            decision = Chunk.Decision.MATCH_EXISTING
        elif _is_named_in(text, name=new.name) or without_title(actor) == without_title(new.name):
            decision, plan = Chunk.Decision.CREATE_NEW, new
    return Placement(
        decision=decision,
        entity_id=entity_id,
        new_entity=plan,
        match_confidence=match,
        create_confidence=create,
        secondary_ids=_secondary(assignment, candidates=candidates, primary=entity_id),
        title=_line(assignment.title, TITLE_CHARACTERS) or _line(text, TITLE_CHARACTERS),
        summary=_line(assignment.summary, SUMMARY_CHARACTERS) or _line(text, SUMMARY_CHARACTERS),
        labels=tuple(label[:100] for label in assignment.labels if label.strip())[:MAX_LABELS],
        subject_key=normalise(assignment.subject_key)[:SUBJECT_CHARACTERS],
    )


def is_usable_name(name: str) -> bool:
    """A name that could stand for one thing: no placeholder, no generic word, no path."""
    compared = normalise_name(name)
    # Normalising may lengthen a name: one sign can stand for eighteen letters.
    if not compared or max(len(name), len(normalise(name)), len(compared)) > NAME_CHARACTERS:
        return False
    if is_placeholder(compared):
        return False
    has_letter = any(unicodedata.category(character).startswith("L") for character in compared)
    return has_letter and _FORBIDDEN_IN_NAMES.search(name) is None


def _valid_new_entity(assignment: Assignment, *, text: str) -> NewEntityPlan | None:
    new = assignment.new_entity
    if new is None or new.type not in Entity.Type.values or not is_usable_name(new.name):
        return None
    evidence = normalise(new.evidence)
    if not evidence or evidence not in normalise(text):
        return None
    aliases = tuple(alias for alias in new.aliases if is_relation(alias))[:MAX_RELATIONS]
    return NewEntityPlan(type=new.type, name=normalise(new.name), aliases=aliases)


def _is_named_in(text: str, *, name: str) -> bool:
    """Whether the text has a word of the name, of Chinese two characters: none is invented."""
    told, compared = f" {normalise_name(text)} ", normalise_name(name)
    latin = [word for word in _LATIN_WORD.findall(compared) if not is_placeholder(word)]
    pairs = [pair for run in _HAN_RUN.findall(compared) for pair in map("".join, pairwise(run))]
    return any(re.search(rf"(?<![a-z\d]){re.escape(word)}", told) for word in latin) or any(
        pair in told for pair in pairs
    )


def _entity_with_name(name: str, *, candidates: Sequence[EntityCandidate]) -> str | None:
    """A new name that equals an existing name or alias is a match."""
    for bare in (normalise_name, without_title):
        compared = bare(name)
        for candidate in candidates:
            if compared in {bare(known) for known in (candidate.name, *candidate.aliases)}:
                return candidate.entity_id
    return None


def without_title(name: str) -> str:
    """The compared form of a name without how the person is addressed: Dr. Nair, 张伟先生.

    A surname alone keeps its title: 王总 and 王老师 are two people.
    """
    compared = normalise_name(name)
    bare = _ENGLISH_TITLE.sub("", compared)
    return _CHINESE_TITLE.sub("", bare) or compared


def _secondary(
    assignment: Assignment, *, candidates: Sequence[EntityCandidate], primary: str | None
) -> tuple[str, ...]:
    found = (_entity_with_name(name, candidates=candidates) for name in assignment.secondary)
    distinct = dict.fromkeys(entity_id for entity_id in found if entity_id)
    return tuple(entity_id for entity_id in distinct if entity_id != primary)[:MAX_SECONDARY]


def _confidence(value: float) -> float:
    """A confidence outside 0..1 is no confidence at all, rather than a very high one."""
    return value if math.isfinite(value) and 0 <= value <= 1 else 0.0


def _line(text: str, limit: int) -> str:
    """One line within the limit, cut between words where there are any."""
    line = " ".join(text.split())  # as it was written: full-width punctuation stays
    if len(line) <= limit:
        return line
    cut = line[:limit]
    head, separator, _ = cut.rpartition(" ")
    return head if separator and len(head) > limit // 2 else cut

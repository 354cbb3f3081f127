"""Assignment by rules: whose tree does this chunk belong to?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workspaces.judging import names_en, names_zh
from workspaces.judging.addresses import is_address
from workspaces.judging.base import Action, Assignment, ChunkContext, EntityCandidate, NewEntity
from workspaces.judging.cues_en import ENGLISH
from workspaces.judging.cues_zh import CHINESE
from workspaces.judging.leaf_words import labels_of, summary_of, title_of
from workspaces.judging.mentions import CHINESE_HEAD_TYPES, HEAD_TYPES, RANK, Mention, Role
from workspaces.judging.placeholders import is_placeholder
from workspaces.judging.reading import cleaned, is_chinese, sentences
from workspaces.judging.relations_told import is_relation, named_after, told_relation
from workspaces.judging.speakers import is_person
from workspaces.judging.subject_keys import subject_key

MATCH_CONFIDENCE: dict[Role, float] = {"subject": 0.92, "possessor": 0.88, "object": 0.66}
ACTOR_MATCH_CONFIDENCE = 0.75
ACTOR_CREATE_CONFIDENCE = 0.72
# The table of the write path creates from 0.68 on; under it a find is only a guess.
CLEAR_NAME = 0.68
TOLD_NAME = 0.82
MAX_SECONDARY = 6
# Later sentences usually elaborate; their subjects rarely own the chunk.
LEADING_SENTENCES = 3
# What a sentence is about stands in its first part; this also bounds the work on a long one.
LEADING_CHARACTERS = 400

_FIRST_PERSON = re.compile(
    r"(?:^|[,;] (?:and |but |so )?)(?:(?:yesterday|today|recently|last \w+|this \w+),? )?(?:i|my)(?:'m|'ve|'d|'ll)?\b"
    r"|(?:^|，)(?:昨天|今天|前天|上周|去年|最近|其实)?我(?!们)",
    re.IGNORECASE,
)
_SPEAKS_OF_SELF = re.compile(r"\bI\b|\b(?:[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b|我(?!们)")
_PREFERENCE = re.compile(
    r"\b(?:prefer|like|love|hate|enjoy|favou?rite)s?\b|喜欢|习惯|偏好|讨厌", re.IGNORECASE
)


_MADE_BY = re.compile(
    r"[\u4e00-\u9fff]{2,6}的?(?P<model>(?=[^\u4e00-\u9fff]*\d)(?=[^\u4e00-\u9fff]*[A-Za-z]{2})[A-Za-z\d][A-Za-z\d-]{3,})"
)


@dataclass(frozen=True, slots=True)
class _Match:
    candidate: EntityCandidate
    mention: Mention


def assign(chunk: ChunkContext, *, candidates: Sequence[EntityCandidate]) -> Assignment:
    """Match an entity that the chunk names, else create a clearly named one, else fall back."""
    lines = _leading_lines(chunk.text)
    matches = sorted(_matches(lines, candidates), key=lambda match: match.mention.order)
    names = sorted(_new_names(lines, matches), key=lambda mention: mention.order)
    best = matches[0] if matches else None
    new = names[0] if names else None
    if best and not _is_outranked(best, new, chunk):
        return _matched(chunk, best, others=[*matches[1:]], names=names)
    if new:
        return _created(chunk, new, matches=matches, names=names[1:], lines=lines)
    return _by_actor(chunk, candidates=candidates, matches=matches)


def _is_outranked(best: _Match, new: Mention | None, chunk: ChunkContext) -> bool:
    """A new subject goes before an old object; a first person goes before another person."""
    if new and RANK[new.role] < RANK[best.mention.role]:
        return True
    speaks_of_self = _is_about_actor(chunk) and best.mention.role == "object"
    return speaks_of_self and best.candidate.type == "person" and new is None


def _matches(lines: Sequence[str], candidates: Sequence[EntityCandidate]) -> list[_Match]:
    shared = _shared_short_forms(candidates)
    found = []
    for candidate in candidates:
        mentions = [
            mention
            for index, line in enumerate(lines)
            for mention in _mentions_of(candidate, line, index=index, shared=shared)
        ]
        if mentions:
            found.append(_Match(candidate, min(mentions, key=lambda mention: mention.order)))
    return found


def _mentions_of(
    candidate: EntityCandidate, line: str, *, index: int, shared: frozenset[str]
) -> list[Mention]:
    full = {cleaned(name) for name in (candidate.name, *candidate.aliases)}
    short = {form for form in _short_forms(candidate) if form not in shared}
    chinese = is_chinese(line)
    role_at = names_zh.role_at if chinese else names_en.role_at
    return [
        Mention(form, candidate.type, role_at(line, start), index, start, 1.0)
        for form in full | short
        for start in _starts(form, line, is_exact=form in short)
        if not _is_of_another(form, line, end=start + len(form), known=full)
        and not is_address(line, start=start, end=start + len(form), chinese=chinese)
    ]


def _is_of_another(form: str, line: str, *, end: int, known: set[str]) -> bool:
    """My sister Clara, 我表弟叫李强: said of the one that is named, and not of the known one."""
    if not is_relation(form):
        return False
    told = told_relation(line)
    named = told.name if told else named_after(line[end:])
    return bool(named) and named not in known


def _starts(form: str, line: str, *, is_exact: bool) -> list[int]:
    """Places of a form as whole words; Chinese has no word ends, so there it is a substring."""
    if not form or (is_placeholder(form) and not is_relation(form)):
        return []
    before = r"(?<![A-Za-z\d_])" if form[0].isascii() else ""
    after = r"(?![A-Za-z\d_])" if form[-1].isascii() else ""
    flags = re.NOFLAG if is_exact else re.IGNORECASE
    return [match.start() for match in re.finditer(before + re.escape(form) + after, line, flags)]


def spoken_forms(candidate: EntityCandidate) -> set[str]:
    """Whatever would be taken for the entity in a text, as it is compared there."""
    names = {cleaned(name) for name in (candidate.name, *candidate.aliases)}
    return names | _short_forms(candidate)


def _short_forms(candidate: EntityCandidate) -> set[str]:
    """ "Atlas" for "Atlas gateway", "Priya" for "Priya Nair"; compared in exact case."""
    words = cleaned(candidate.name).split()
    if len(words) < 2 or not words[0][:1].isupper():
        return _model_of(candidate.name)
    if words[-1].lower() in HEAD_TYPES or words[-1] in CHINESE_HEAD_TYPES:
        return {" ".join(words[:-1])}
    return (
        {words[0]} if candidate.type in ("person", "identity", "preference", "customer") else set()
    )


def _model_of(name: str) -> set[str]:
    """ "iPhone13" for "苹果iPhone13": a maker's name before a model that says it all."""
    match = _MADE_BY.fullmatch(cleaned(name))
    return {match["model"]} if match else set()


def _shared_short_forms(candidates: Sequence[EntityCandidate]) -> frozenset[str]:
    """Short forms that two entities have in common name neither."""
    forms = [form for candidate in candidates for form in _short_forms(candidate)]
    return frozenset(form for form in forms if forms.count(form) > 1)


def _new_names(lines: Sequence[str], matches: Sequence[_Match]) -> list[Mention]:
    """Clear names that are not those of a matched entity nor a part of one."""
    known = [cleaned(m.candidate.name).casefold() for m in matches]
    known += [m.mention.name.casefold() for m in matches]
    found: list[Mention] = []
    for index, line in enumerate(lines):
        reader = names_zh.find_names if is_chinese(line) else names_en.find_names
        named = (m for m in reader(line, index=index) if not _is_call(m, line))
        told = told_relation(line)
        if told:
            found.append(Mention(told.name, "person", "subject", index, told.start, TOLD_NAME))
        found += [mention for mention in named if _is_clear(mention, line)]
    return [mention for mention in found if not _is_known(mention.name, known)]


def _is_call(mention: Mention, line: str) -> bool:
    end = mention.start + len(mention.name)
    return is_address(line, start=mention.start, end=end, chinese=is_chinese(line))


def _is_known(name: str, known: Sequence[str]) -> bool:
    folded = name.casefold()
    return any(folded == other or folded in other or other in folded for other in known)


def _is_clear(mention: Mention, line: str) -> bool:
    """A subject, or a name with a head noun in a sentence whose subject is a pronoun."""
    if mention.confidence < CLEAR_NAME:
        return False
    if mention.role != "object":
        return True
    is_headed = mention.name.split()[-1].lower() in HEAD_TYPES
    return is_headed and bool(re.match(r"(?:We|I|Nobody|They|Everyone|You)\b", line))


def _matched(
    chunk: ChunkContext, best: _Match, *, others: Sequence[_Match], names: Sequence[Mention]
) -> Assignment:
    found = _Found(
        subject=best.candidate.name,
        spoken=best.mention.name,
        entity_id=best.candidate.entity_id,
        match_confidence=MATCH_CONFIDENCE[best.mention.role],
    )
    return _assignment(chunk, found, secondary=_secondary(best.candidate.name, others, names))


def _created(
    chunk: ChunkContext,
    new: Mention,
    *,
    matches: Sequence[_Match],
    names: Sequence[Mention],
    lines: Sequence[str],
) -> Assignment:
    secondary = _secondary(new.name, matches, names)
    evidence = _span_with(new.name, chunk.text)
    if evidence is None:
        return _assignment(chunk, _Found(), secondary=secondary)
    kind = "identity" if chunk.kind == "accepted_identity" and new.type == "person" else new.type
    entity = NewEntity(kind, new.name, evidence, _relations(chunk, new, lines))
    found = _Found(subject=new.name, new_entity=entity, create_confidence=new.confidence)
    return _assignment(chunk, found, secondary=secondary)


def _relations(chunk: ChunkContext, new: Mention, lines: Sequence[str]) -> tuple[str, ...]:
    """How the speaker calls the new one. Where speakers have names, "my" is each one's own."""
    told = told_relation(lines[new.sentence])
    is_meant = told is not None and told.name == new.name and not is_person(chunk.actor)
    return told.aliases if told and is_meant else ()


def _by_actor(
    chunk: ChunkContext, *, candidates: Sequence[EntityCandidate], matches: Sequence[_Match]
) -> Assignment:
    if not _is_about_actor(chunk) and not _speaks_of_self(chunk):
        return _assignment(chunk, _Found(), secondary=_secondary("", matches, []))
    actor = cleaned(chunk.actor)
    secondary = _secondary(actor, matches, [])
    known = next((c for c in candidates if _is_called(c, actor)), None)
    if known:
        found = _Found(known.name, "", known.entity_id, ACTOR_MATCH_CONFIDENCE)
    else:
        entity = NewEntity(_actor_type(chunk), actor, sentences(chunk.text)[0])
        found = _Found(subject=actor, new_entity=entity, create_confidence=ACTOR_CREATE_CONFIDENCE)
    return _assignment(chunk, found, secondary=secondary)


def _is_called(candidate: EntityCandidate, name: str) -> bool:
    wanted = name.casefold()
    full = {cleaned(form).casefold() for form in (candidate.name, *candidate.aliases)}
    return wanted in full or wanted in {form.casefold() for form in _short_forms(candidate)}


def _is_about_actor(chunk: ChunkContext) -> bool:
    if chunk.kind == "assistant_turn" or not is_person(chunk.actor):
        return False
    if chunk.kind.startswith("accepted_"):
        return True
    return any(_FIRST_PERSON.search(_opened(line)) for line in _leading_lines(chunk.text))


def _speaks_of_self(chunk: ChunkContext) -> bool:
    """The speaker stands somewhere in a text that names nobody else."""
    if chunk.kind == "assistant_turn" or not is_person(chunk.actor):
        return False
    return any(_SPEAKS_OF_SELF.search(line) for line in _leading_lines(chunk.text))


def _leading_lines(text: str) -> list[str]:
    return [cleaned(line)[:LEADING_CHARACTERS] for line in sentences(text)[:LEADING_SENTENCES]]


def _opened(line: str) -> str:
    return (CHINESE if is_chinese(line) else ENGLISH).opening.sub("", line)


def _actor_type(chunk: ChunkContext) -> str:
    if chunk.kind == "accepted_identity":
        return "identity"
    if chunk.kind == "accepted_preference" or _PREFERENCE.search(chunk.text):
        return "preference"
    return "person"


def _span_with(name: str, text: str) -> str | None:
    """The literal text of the name in the chunk, or None when only its cleaned form is there."""
    spaced = r"\s+".join(re.escape(word) for word in name.split())
    match = re.search(spaced, text)
    return match.group() if match else None


def _secondary(
    primary: str, matches: Sequence[_Match], names: Sequence[Mention]
) -> tuple[str, ...]:
    found = [match.candidate.name for match in matches] + [mention.name for mention in names]
    return tuple(name for name in dict.fromkeys(found) if name != primary)[:MAX_SECONDARY]


@dataclass(frozen=True, slots=True)
class _Found:
    """`spoken` is the subject as the text says it, `subject` as the entity is called."""

    subject: str = ""
    spoken: str = ""
    entity_id: str | None = None
    match_confidence: float = 0.0
    new_entity: NewEntity | None = None
    create_confidence: float = 0.0

    @property
    def action(self) -> Action:
        if self.entity_id:
            return "match_existing"
        return "create_new" if self.new_entity else "fallback"


def _assignment(chunk: ChunkContext, found: _Found, *, secondary: tuple[str, ...]) -> Assignment:
    spoken = found.spoken or found.subject
    attribute = subject_key(chunk.text, subject=spoken).partition("|")[2]
    return Assignment(
        action=found.action,
        entity_id=found.entity_id,
        match_confidence=found.match_confidence,
        new_entity=found.new_entity,
        create_confidence=found.create_confidence,
        secondary=secondary,
        title=title_of(chunk.text),
        summary=summary_of(chunk.text),
        labels=labels_of(chunk.text, names=(found.subject, *secondary)),
        subject_key=f"{found.subject.casefold()}|{attribute}",
    )

"""Whom or what a question is about, and what it asks beside that name.

The name of a known entity stands in most of what is stored about it, so it says nothing about
whether a text answers the question.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holamem.text.languages import has_han
from holamem.text.normalise import normalise, normalise_name
from holamem.text.segment import query_terms
from retrieval.stages.lookups import stands_in
from retrieval.types import EntityMatch, NodeRow, Question

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Subject:
    """A known entity, its name folded, and how the question spells it, the longest first."""

    name: str
    spellings: tuple[str, ...]


def subject_of(
    question: Question, *, entities: Sequence[EntityMatch], rows: Sequence[NodeRow]
) -> Subject | None:
    """The one known entity that the question is about.

    Of several entities it is the one that most of the evidence is about: the others are what
    the question asks of it. Without a match, a name that is part of an entity's name counts
    ("Atlas" of "Atlas gateway"). None where the question names nothing known.
    """
    folded = normalise_name(question.text)
    spelt = _spelt_names(question, entities=entities, rows=rows)
    if not spelt:
        return None
    spread = Counter(normalise_name(name) for row in rows for _, name in row.entities)
    subject = max(spelt, key=lambda name: (spread[name], len(name), name))
    found = {name for name in spelt[subject] if stands_in(name, folded)}
    found |= {name for name in map(normalise_name, question.names) if stands_in(name, subject)}
    return Subject(subject, tuple(sorted(found, key=lambda name: (-len(name), name))))


def _spelt_names(
    question: Question, *, entities: Sequence[EntityMatch], rows: Sequence[NodeRow]
) -> dict[str, set[str]]:
    """By the folded name of an entity: the folded spellings by which the question may mean it."""
    folded = normalise_name(question.text)
    spelt: dict[str, set[str]] = {}
    for match in entities:
        spellings = {normalise_name(name) for name in (match.name, *match.spellings)}
        if any(stands_in(name, folded) for name in spellings):
            spelt[normalise_name(match.name)] = spellings
    if spelt:
        return spelt
    names = [normalise_name(name) for name in question.names]
    known = {normalise_name(name) for row in rows for _, name in row.entities}
    for entity in known:
        parts = {name for name in names if stands_in(name, entity)}
        if parts:
            spelt[entity] = parts
    return spelt


def speaks_of(row: NodeRow, text: str, *, subject: Subject) -> bool:
    """Whether a node is linked to the subject or names it in its text."""
    if any(normalise_name(name) == subject.name for _, name in row.entities):
        return True
    folded = normalise_name(f"{row.actor} {row.title} {text}")
    return any(stands_in(name, folded) for name in (subject.name, *subject.spellings))


def without_names(text: str, spellings: Sequence[str]) -> str:
    """The text with these folded names cut out, whatever separates their words in it."""
    bare = normalise(text)
    for name in spellings:
        bare = _pattern(name).sub(" ", bare)
    return _SPACES.sub(" ", bare).strip()


def _pattern(name: str) -> re.Pattern[str]:
    if has_han(name):
        return re.compile(r"\s*".join(re.escape(sign) for sign in name if sign != " "), re.I)
    words = r"[\W_]+".join(re.escape(word) for word in name.split())
    return re.compile(rf"(?<![^\W_]){words}(?:['’]?s)?(?![^\W_])", re.IGNORECASE)


def asked_beside(question: Question, *, spellings: Sequence[str]) -> Question:
    """The question with the topic terms that are left when its subject's names are cut out."""
    left = set(query_terms(without_names(question.text, spellings)))
    return replace(question, topic_terms=tuple(t for t in question.topic_terms if t in left))

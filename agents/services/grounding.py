"""Whether a sentence can be read off a result: said there, in one place, and the same way round.

Words that occur somewhere in a result prove nothing: two true sentences can be stitched into a
false one, and a "not" left out turns one round. So a statement is a quotation but for articles,
endings and its subject, which may stand before in the text, in a heading, or in what was asked.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import Stemmer

from agents.services.passages import Data, Passage, Prose, passages_of
from holamem.text.sentences import split_sentences
from workspaces.judging.wordlists import word_set

SUBJECT_UNITS = 8  # words, or Chinese characters, that a clause may take its subject from

_TOKEN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]|[^\W_\u3400-\u4dbf\u4e00-\u9fff]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_POSSESSIVE = re.compile(r"['’]s\b")
# Everything else may turn a meaning round: "under" for "over", "to" for "from".
_DROPPED = word_set(
    "a an the is are was were be been has have had its it that this and but while"
    " 的 了 着 是 在 并 但 而 且 也"
)
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|without|cannot|hardly|false)\b|n['’]t\b|[不没未无非勿]",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|when|whenever|until|except|only|provided|otherwise|in case|according to|allegedly)\b"
    r"|如果|若|除非|假如|一旦|只有|仅|除了|据称|据说",
    re.IGNORECASE,
)
_INTENDED = re.compile(
    r"\b(?:will|would|shall|should|could|(?<!\d )may(?! \d)|might|must|plan(?:s|ned|ning)?|intend\w*|going to|propos\w*|draft\w*|todo"
    r"|to be|suggest\w*|recommend\w*|probably|perhaps|maybe|likely|expected|hop(?:e|es|ing)|want\w*|think|guess\w*)\b"
    r"|将要|将会|将于|即将|会在|打算|计划|准备|预计|可能|应该|应当|建议|也许|大概|或许|希望|想要|待办|草案",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?:it|they|this|these|its|their)\b|[它该其此]", re.IGNORECASE)
_STEMMER = Stemmer.Stemmer("english")

Units = tuple[str, ...]


@lru_cache(maxsize=4096)
def units_of(text: str) -> Units:
    """In order: stems, numbers, single Chinese characters; an address is its pieces."""
    plain = _CAMEL.sub(" ", _POSSESSIVE.sub("", text))
    found = (match.group().casefold() for match in _TOKEN.finditer(plain))
    return tuple(_STEMMER.stemWord(unit) for unit in found if unit not in _DROPPED)


def is_intended(text: str) -> bool:
    """Whether it speaks of what is wanted, expected or guessed, and not of what is."""
    return _INTENDED.search(text) is not None


def is_said(statement: str, *, text: str, asked: Iterable[str] = ()) -> bool:
    """Whether each sentence of the statement stands in one passage of the text.

    `asked` are single words that the text may be about without naming them.
    """
    passages = passages_of(text)
    subjects = [units_of(value) for value in asked if len(value.split()) == 1]
    parts = [statement[span.start : span.end] for span in split_sentences(statement)]
    return bool(parts) and all(
        any(_says(passage, part, subjects=subjects) for passage in passages) for part in parts
    )


def is_about(summary: str, *, texts: Sequence[str], name: str = "") -> bool:
    """Whether it may stand for one of the texts: no word that is not there, and no figure apart
    from what it is the figure of.
    """
    known = set(units_of(name))
    for text in texts:
        same_way = _is_negated(summary) == _is_negated(text)
        has_figure = any(unit.isdecimal() for unit in units_of(summary))
        if same_way and _content(summary) <= known | set(units_of(text)):
            return not has_figure or is_said(summary, text=text, asked=[name])
    return False


# What a heading of a topic may say of its own.
_FRAME = word_set("where what how who which when of for on in at to with 和 与 及")


def _content(text: str) -> set[str]:
    return set(units_of(text)) - _FRAME


def _is_negated(text: str) -> bool:
    return _NEGATION.search(text) is not None


def _says(passage: Passage, sentence: str, *, subjects: Sequence[Units]) -> bool:
    if isinstance(passage, Data):
        return _data_says(passage, sentence, subjects=subjects)
    if is_intended(passage.text):
        return False
    return _prose_says(passage, sentence, subjects=subjects)


def _prose_says(passage: Prose, sentence: str, *, subjects: Sequence[Units]) -> bool:
    """Whole clauses, the first of the sentence among them or its subject before them."""
    said, is_negated = units_of(sentence), _is_negated(sentence)
    if _CONDITION.search(passage.text):
        return said == units_of(passage.text) and is_negated == _is_negated(passage.text)
    for first in range(len(passage.clauses)):
        for last in range(first, len(passage.clauses)):
            clauses = passage.clauses[first : last + 1]
            body = sum((units_of(clause) for clause in clauses), ())
            if not body or said[-len(body) :] != body:
                continue
            if is_negated != any(map(_is_negated, clauses)):
                continue
            if _is_subject(said[: -len(body)], passage, first=first, asked=subjects):
                return True
    return False


def _is_subject(units: Units, passage: Prose, *, first: int, asked: Sequence[Units]) -> bool:
    """Whether these may stand before the clause number `first`."""
    if not units:
        return True
    sources = [units_of(passage.heading), *asked]
    if first > 0 and not _is_negated(passage.clauses[0]):
        sources.append(units_of(passage.clauses[0])[:SUBJECT_UNITS])
    opening = _PRONOUN.match(passage.text)
    if opening and first == 0 and not _is_negated(passage.before):
        sources.append(units_of(passage.before)[:SUBJECT_UNITS])
    return any(source[: len(units)] == units for source in sources)


def _data_says(passage: Data, sentence: str, *, subjects: Sequence[Units]) -> bool:
    """Each value with its key, but for the one that the sentence is about."""
    said = set(units_of(sentence))
    told: set[str] = set()
    names = [set(subject) for subject in subjects]
    for key, value in passage.pairs:
        words, values = set(units_of(key)), set(units_of(value))
        if key and values and words | values <= said and _fits(sentence, value):
            told |= words | values
        if not any(unit.isdecimal() for unit in values):
            names.append(values)
    rest = said - told
    return bool(told) and (not rest or any(rest <= name for name in names))


def _fits(sentence: str, value: str) -> bool:
    """A negation in the one is in the other."""
    return _is_negated(sentence) == _is_negated(value) and not is_intended(value)

"""What a model's words must have in common with the text that it was given."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holamem.text.languages import language_of
from workspaces.judging import names_zh
from workspaces.judging.base import ChildView
from workspaces.judging.numerals import numbers_in
from workspaces.judging.placeholders import COMMON_ACRONYMS, is_placeholder
from workspaces.judging.reading import cleaned, content_terms, is_chinese, sentences

# Up to twelve a number may count the children or be a month that the child spells out.
MAX_FREE_NUMBER = 12
MIN_SHARE = 0.01  # of the characters of the children
SPARE_CHARACTERS = 200  # short children may need connecting words
# Share of a statement's content terms that its source has too. A paraphrase keeps its names and
# most nouns; a refusal, a template or an echo of the instructions keeps almost nothing.
MIN_SHARED_TERMS = 0.25

_ABOUT_ITSELF = re.compile(
    r"\b(?:this summary|summary of (?:the|these|all)|the (?:children|memories|notes|items) (?:above|below|say|describe|cover)"
    r"|as an ai|language model|(?:here|below) (?:is|are) (?:the|a|your)|i (?:cannot|can't|am unable|won't)|i'm (?:unable|sorry))\b"
    r"|(?:以上|以下|上述)(?:内容|记忆|信息|是)|本(?:摘要|总结)|总结如下|作为(?:一个|一名)?(?:ai|人工智能|语言模型|助手)"
    r"|(?:我)?无法(?:提供|生成|完成|帮助|协助)",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"(?<![\w@./-])[A-ZÀ-ÖØ-Þ][\w'’&-]*[^\W_]|(?<![\w@./-])[A-Z](?![\w'’])")
# Addresses, paths, ids and names of programs: their form alone says that they are names.
_IDENTIFIER = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]+|https?://\S+|(?<![\w./])/[\w./-]{3,}|\b[a-z]+[A-Z]\w+|\b[\w-]*[a-z][\w-]*\d[\w-]*"
    r"|\b[0-9a-f]{8}-[0-9a-f-]{20,}|\b\w+(?:[_.]\w+)+",
)
_STATES_ITS_SUBJECT = re.compile(
    r"^(?P<word>[A-Z][\w'’-]*[^\Ws_])\s+(?:is|was|has|will|[a-z]+[^s\W]s)\b"
)
_QUOTED = re.compile(r"[「“『《\"](?P<name>[^」”』》\"]{2,40})[」”』》\"]")


@dataclass(frozen=True, slots=True)
class Source:
    """The text that words are held against, and what else is known to be named there."""

    text: str
    names: str = ""

    @property
    def all_text(self) -> str:
        return f"{self.names} {self.text}"


def source_of(children: Iterable[ChildView], *, names: str = "") -> Source:
    text = "\n".join(f"{c.title} {c.text} {c.observed_at:%Y %m %d %H %M}" for c in children)
    return Source(text, names)


def unsupported(statement: str, *, source: Source, named_in: Source | None = None) -> str:
    """Why the source cannot have said this, in one word, or "".

    `named_in`: where names may come from besides the source ("it" may be a name elsewhere).
    """
    if not statement.strip():
        return "blank"
    if not has_its_numbers_from(statement, source):
        return "number"
    if _unknown_names(statement, known=named_in or source):
        return "name"
    if _ABOUT_ITSELF.search(statement) and not _ABOUT_ITSELF.search(source.text):
        return "template"
    return "" if _shares_its_words(statement, source) else "words"


def has_its_numbers_from(text: str, source: Source) -> bool:
    """Whether every number of the text stands in the source, as digits or as a word."""
    free = {str(number) for number in range(MAX_FREE_NUMBER + 1)}
    return numbers_in(text) <= free | numbers_in(source.all_text)


def _shares_its_words(statement: str, source: Source) -> bool:
    terms = content_terms(statement)
    shared = terms & content_terms(source.all_text)
    return not terms or len(shared) >= max(1, MIN_SHARED_TERMS * len(terms))


def _unknown_names(statement: str, *, known: Source) -> list[str]:
    folded = cleaned(known.all_text).casefold()
    terms = content_terms(known.all_text)
    return [
        name
        for name in _names(cleaned(statement))
        if name.casefold() not in folded and not content_terms(name) <= terms
    ]


def _names(text: str) -> list[str]:
    found = [match.group() for match in _IDENTIFIER.finditer(text)]
    found += [match["name"] for match in _QUOTED.finditer(text)]
    for index, sentence in enumerate(sentences(text)):
        found += _capitalised(sentence)
        if is_chinese(sentence):
            mentions = names_zh.find_names(sentence, index=index)
            found += [mention.name for mention in mentions if mention.type == "person"]
    return found


def _capitalised(sentence: str) -> list[str]:
    """Names inside a sentence; its first word only where it can hardly be an ordinary one."""
    words = [match.group().removesuffix("'s") for match in _CAPITALISED.finditer(sentence)]
    opening = _STATES_ITS_SUBJECT.match(sentence)
    if words and sentence.startswith(words[0]) and not opening:
        words = words[1:]
    return [word for word in words if not is_placeholder(word) and word not in COMMON_ACRONYMS]


def problem_with(text: str, children: Sequence[ChildView]) -> str | None:
    """Why this cannot be a summary of the children: wrong language, far too short or too long."""
    if language_of(text) not in {language_of(child.text) for child in children}:
        return "The summary is not in the language of its children."
    source_characters = sum(len(child.text) for child in children)
    if len(text) < source_characters * MIN_SHARE:
        return "The summary is too short for what it stands for."
    if len(text) > source_characters + SPARE_CHARACTERS:
        return "The summary is longer than what it stands for."
    return None

"""What a statement says about its subject, as a key: two values of one thing share it."""

import re

from workspaces.judging.addresses import without_calls
from workspaces.judging.cues_en import ENGLISH
from workspaces.judging.cues_zh import CHINESE
from workspaces.judging.reading import cleaned, content_terms, is_chinese, sentences
from workspaces.judging.relations import FIRST_PERSONS, attribute_of, relation_in

# A statement names its attribute early; this also bounds the work on a long sentence.
READ_CHARACTERS = 400
READ_SENTENCES = 3

_OWNED_EN = r"(?:^|[,;] |\bthat |\bto \w+ )(?:the |our |my |a )?(?P<attribute>(?:[\w-]+ ){{1,4}}?)of (?:the |our |my )?{name}"
_GENITIVE_EN = r"{name}(?:'s|s') (?P<attribute>(?:[\w-]+ ?){{1,4}}?)(?= (?:is|are|was|were|has|moved|now|will|changed)\b)"
_MINE_EN = re.compile(
    r"\b(?:my|our) (?P<attribute>(?:[\w-]+ ){1,3}?)(?:is|are|was|has|moved)\b", re.IGNORECASE
)
_VERB_ZH = r"现在|目前|增加|增至|减少|减至|降[到至为低]|涨[到至了]|上涨|下降|提高|提升|推迟|延期|升级|改|是|在|有|由|为|放|存|从|保留|写|叫|已|将|发|定|提|推|每|会|要|用|都|统一|全部|如果|可以|必须|需要|[\d\s，,：:（(]"
_OWNED_ZH = r"{name}(?:\s?[\d.]+\s?)?的(?P<attribute>[\u4e00-\u9fffA-Za-z]{{1,10}}?)(?={verb}|$)"
_MINE_ZH = re.compile(r"我(?:们)?的?(?P<attribute>[\u4e00-\u9fff]{1,8}?)(?:是|叫|在|改|用的是)")


# "No longer a lead" is a statement about being a lead.
_NO_PREDICATE = re.compile(
    r"\b(?:no longer|not|never|any ?more|now|currently|still|usually|really|totally)\b|n't\b|现在|目前|不再|^我们?"
)


def subject_key(text: str, *, subject: str) -> str:
    """`<subject>|<attribute>`, lower case; the attribute is what is stated, else the predicate.

    "The port of Atlas is 80" and "Atlas's port is 81" have the key `atlas|port`.
    """
    first = _first_statement(text)
    name = cleaned(subject).casefold()
    attribute = (
        _owned(first, name=name) or _related(first, name=name) or _predicate(first, name=name)
    )
    return f"{name}|{attribute}"[:120]


def _owned(sentence: str, *, name: str) -> str:
    quoted = re.escape(name) if name else r"\w+"
    patterns = (
        [re.compile(_OWNED_ZH.format(name=quoted, verb=_VERB_ZH), re.IGNORECASE), _MINE_ZH]
        if is_chinese(sentence)
        else [
            re.compile(_OWNED_EN.format(name=quoted), re.IGNORECASE),
            re.compile(_GENITIVE_EN.format(name=quoted), re.IGNORECASE),
            _MINE_EN,
        ]
    )
    for pattern in patterns:
        match = pattern.search(sentence)
        if match:
            return " ".join(match["attribute"].casefold().split())
    return ""


def _first_statement(text: str) -> str:
    """The first sentence that says something once its greeting and its call are off."""
    lines = [cleaned(line)[:READ_CHARACTERS] for line in sentences(text)[:READ_SENTENCES] or [text]]
    told = (_told(line) for line in lines)
    return next((line for line in told if len(content_terms(line)) > 1), lines[0])


def _told(line: str) -> str:
    if is_chinese(line):
        return CHINESE.opening.sub("", line)
    return ENGLISH.opening.sub("", without_calls(line))


def _related(sentence: str, *, name: str) -> str:
    relation = relation_in(sentence)
    if relation is None or relation.subject not in FIRST_PERSONS | {name}:
        return ""
    return attribute_of(relation)


def _predicate(sentence: str, *, name: str) -> str:
    """The first content word after the subject; Chinese: the first two characters of content."""
    folded = sentence.casefold()
    _, _, after = folded.partition(name) if name and name in folded else ("", "", folded)
    after = _NO_PREDICATE.sub(" ", after)
    after = re.sub(r"\d+\s*月(?:\s*\d+\s*[日号]?)?|^(?:\s?v?\d[\d.]*)+", "", after)
    if is_chinese(sentence):
        runs = re.findall(r"[\u4e00-\u9fff]+", re.sub(r"[的了是在把将已经]", " ", after))
        return str(runs[0][:2]) if runs else ""
    for word in re.findall(r"[a-z][\w'-]*", after):
        stems = content_terms(word)
        if stems:
            return min(stems)
    return ""

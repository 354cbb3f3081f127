"""Sentences that say who or what something of the speaker's is called: 我的上司名叫赵雅琳.

The name is an entity; "my boss" is another way to say it, as long as nobody else is known who
says "my" in this memory.
"""

import re
from dataclasses import dataclass

from workspaces.judging.placeholders import is_placeholder
from workspaces.judging.surnames import NOT_PEOPLE, SURNAMES

_HAN = r"\u4e00-\u9fff"
# Of these one has one, or says which; of colleagues and friends there are many.
_RELATION_ZH = (
    r"(?:爸爸?|妈妈?|父亲|母亲|爷爷|奶奶|外公|外婆|姥姥|姥爷|哥哥?|弟弟?|姐姐?|妹妹?|老公|老婆|丈夫|妻子|太太|爱人|儿子|女儿"
    r"|叔叔|婶婶|舅舅|舅妈|姑姑|姑妈|姨妈|伯伯|伯父|表[哥弟姐妹]|堂[哥弟姐妹]|侄[子女]|外甥女?|孙子|孙女|公公|婆婆|岳父|岳母"
    r"|男朋友|女朋友|室友|房东|上司|领导|老板|导师|班主任)"
)
_RELATION_EN = (
    r"(?:wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|son|daughter|brother|sister|mother|father|mom|mum|dad"
    r"|grandma|grandpa|grandmother|grandfather|roommate|landlord|boss|supervisor|mentor|manager|advisor)"
)
_SURNAME = "|".join(sorted(SURNAMES, key=len, reverse=True))
_TOLD_ZH = re.compile(
    rf"(?:^|[，,；;])我的?(?P<relation>{_RELATION_ZH})(?:的?名字|的?姓名)?(?:就?是|叫做?|名叫|名为)"
    rf"(?P<name>(?:{_SURNAME})[{_HAN}]{{1,2}})(?=$|[，,。；;！!])"
)
_TOLD_EN = re.compile(
    rf"\b(?P<relation>[Mm]y {_RELATION_EN})(?:'s name is|,? (?:is|was) (?:called|named)|, (?:called|named))"
    r" (?P<name>(?-i:[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}))(?=$|[\s,.;!])",
)
_AFTER_EN = re.compile(r",? (?P<name>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)(?=$|[\s,.;!])")
_AFTER_ZH = re.compile(
    rf"(?P<name>(?:{_SURNAME})[{_HAN}]{{1,2}}?)(?=是|在|的|也|已|要|去|说|有|会|住|喜欢|负责|生日|今年|现在|$|[，。,])"
)
_IS_RELATION = re.compile(rf"我的?{_RELATION_ZH}|my {_RELATION_EN}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Told:
    """`start` is the place of the name; `aliases` the ways in which the speaker says it."""

    name: str
    start: int
    aliases: tuple[str, ...]


def told_relation(sentence: str) -> Told | None:
    """The first person of the speaker whom a cleaned sentence names."""
    match = _TOLD_ZH.search(sentence)
    if match and match["name"][:2] not in NOT_PEOPLE and not is_placeholder(match["name"]):
        relation = match["relation"]
        return Told(match["name"], match.start("name"), (f"我的{relation}", f"我{relation}"))
    match = _TOLD_EN.search(sentence)
    if match and not is_placeholder(match["name"]):
        return Told(match["name"], match.start("name"), (match["relation"].lower(),))
    return None


def named_after(rest: str) -> str:
    """The name that follows a relation at once: my sister Clara, 我表弟李强在杭州; else empty."""
    match = _AFTER_EN.match(rest) or _AFTER_ZH.match(rest)
    return match["name"] if match and match["name"][:2] not in NOT_PEOPLE else ""


def is_relation(name: str) -> bool:
    """Whether these words say who somebody is to the speaker, and nothing else."""
    return _IS_RELATION.fullmatch(name) is not None

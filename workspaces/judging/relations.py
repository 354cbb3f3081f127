"""Statements of which only one can be true at a time, however differently they are worded.

"Lives in Berlin" and "moved to Paris" share no verb, so their words alone do not show that one
ends the other. What is read here is only what has one value: home, employer, assignment,
occupation, and whether somebody likes a thing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from workspaces.judging.reading import READINGS_KEPT, cleaned, content_terms, is_chinese

# What stands after a value and is none of it: "in Berlin since May", "at Acme as a designer".
_AFTER_VALUE = re.compile(
    r" (?:since|for|as|with|until|from|because|and|but|where|now|again|last|this|in \d|on \w+day)\b.*$|(?:了|啦|呢|已经).*$"
)
_TIME_ZH = r"(?:现在|目前|如今|已经?|刚刚?|一直|最近|上个?[周月]|去年|今年|这个?月|\d{1,2}月(?:\d{1,2}[日号])?)*"


@dataclass(frozen=True, slots=True)
class Relation:
    """`subject` and `value` as the text says them, lower case; `left` is the value given up.

    `kinds`: what it can be a statement of. `changes`: it says that the value is a new one.
    """

    kinds: frozenset[str]
    subject: str
    value: frozenset[str]
    left: frozenset[str]
    is_positive: bool
    changes: bool


def _pattern(
    kinds: str, pattern: str, *, changes: bool
) -> tuple[frozenset[str], re.Pattern[str], bool]:
    return frozenset(kinds.split()), re.compile(pattern, re.IGNORECASE), changes


_WHO = r"^(?P<subject>[^,.;]{1,40}?)"
_TO_BE = r"(?:'s|'m| is| am| are| was| were)"
_NAME = r"(?-i:(?P<value>(?:the )?[A-Z][^,.;]{1,50}))"
_FROM = r"(?: from (?P<left>[^,.;]{2,40}?))"
_TEAM = (
    r"(?P<value>(?:the )?(?:project|team) [^,.;]{2,40}|(?:the )?[^,.;]{2,30} (?:project|team)\b)"
)
# A "mother" or a "vegetarian" is no occupation, and ends none.
_WORK = (
    r"(?P<value>(?:[a-z-]+ ){0,2}(?:nurse|doctor|surgeon|dentist|vet|pharmacist|midwife|paramedic|teacher|tutor|professor|lecturer|researcher"
    r"|scientist|engineer|developer|programmer|designer|architect|analyst|consultant|lawyer|judge|accountant|banker|manager|director|officer"
    r"|assistant|secretary|clerk|cashier|waiter|waitress|bartender|barista|cook|chef|baker|butcher|farmer|gardener|florist|driver|pilot"
    r"|mechanic|electrician|plumber|carpenter|painter|builder|welder|tailor|hairdresser|cleaner|guard|soldier|firefighter|policeman|policewoman"
    r"|journalist|reporter|editor|writer|translator|interpreter|photographer|musician|actor|actress|librarian|psychologist|therapist"
    r"|counsel(?:l)?or|social worker|salesman|saleswoman|salesperson|recruiter|coach|trainer|student|intern))\b"
)
_WORK_ZH = (
    r"(?:一?[名位个])?(?P<value>[\u4e00-\u9fff]{0,4}?(?:护士|医生|大夫|牙医|药剂师|教师|老师|教授|讲师|工程师|程序员|设计师|建筑师|分析师|顾问|律师|法官"
    r"|会计|经理|总监|主任|助理|秘书|文员|收银员|服务员|厨师|面包师|农民|园丁|司机|飞行员|机械师|电工|木工|保安|警察|消防员|记者|编辑|作家|翻译"
    r"|摄影师|演员|歌手|图书管理员|心理咨询师|销售员?|教练|研究员|科学家|公务员|学生|实习生))"
)
_OCCUPATION = (
    _pattern(
        "occupation",
        rf"{_WHO}(?:(?: now works?|{_TO_BE} now working) as|{_TO_BE} now| (?:has |have |'ve )?bec[ao]me) an? {_WORK}",
        changes=True,
    ),
    _pattern(
        "occupation",
        rf"{_WHO}(?: works? as|{_TO_BE} working as|{_TO_BE}) an? {_WORK} now\b",
        changes=True,
    ),
    _pattern(
        "occupation",
        rf"{_WHO}(?: (?:works?|worked) as|{_TO_BE} working as|{_TO_BE}) an? {_WORK}",
        changes=False,
    ),
)
_OCCUPATION_ZH = (
    _pattern(
        "occupation",
        rf"^(?P<subject>[^，。；]{{1,10}}?)(?:(?:现在|目前|如今)(?:已经?)?(?:是|当|做|改行[做当])|(?:改行|转行)(?:做|当)了?|当上了?|成为了?){_WORK_ZH}",
        changes=True,
    ),
    _pattern(
        "occupation",
        rf"^(?P<subject>[^，。；]{{1,10}}?)(?:是|当|做){_WORK_ZH}(?=$|[了，。])",
        changes=False,
    ),
)
_ENGLISH = (
    _pattern(
        "home",
        rf"{_WHO}(?:{_TO_BE})? (?:now |currently |still )?(?:lives?|living|resides?|based) in {_NAME}",
        changes=False,
    ),
    _pattern(
        "assignment",
        rf"{_WHO}(?: have| has)?(?:{_TO_BE}| been)? (?:just )?(?:moved|transferred|switched|reassigned) to {_TEAM}",
        changes=True,
    ),
    _pattern(
        "home",
        rf"{_WHO}(?: have| has|'ve)?(?: just| recently)? (?:moved|relocated)(?: back)? to {_NAME}",
        changes=True,
    ),
    _pattern(
        "home employer assignment",
        rf"{_WHO}(?: have| has|'ve)?(?:{_TO_BE})?(?: just| recently)? (?:moved|relocated|transferred|switched|reassigned){_FROM} to {_NAME}",
        changes=True,
    ),
    _pattern(
        "assignment",
        rf"{_WHO}(?:{_TO_BE}| has been| have been) (?:now (?:assigned to|working on)|reassigned to|now on (?=project|team|the [^,.;]+ (?:project|team))) ?(?P<value>[^,.;]{{2,40}})",
        changes=True,
    ),
    _pattern("assignment", rf"{_WHO} now works? on (?P<value>[^,.;]{{2,40}})", changes=True),
    _pattern(
        "assignment",
        rf"{_WHO}(?:(?:{_TO_BE}| has been| have been) (?:currently )?(?:assigned to|working on)| works? on) (?P<value>[^,.;]{{2,40}})",
        changes=False,
    ),
    _pattern(
        "employer",
        rf"{_WHO} (?:have |has |'ve )?left (?P<left>[^,.;]{{2,30}}?) (?:for|and joined|to join) {_NAME}",
        changes=True,
    ),
    _pattern(
        "employer", rf"{_WHO}(?: now works?|{_TO_BE} now working) (?:at|for) {_NAME}", changes=True
    ),
    _pattern(
        "employer",
        rf"{_WHO}(?: have| has|'ve)?(?:{_TO_BE})? (?:works?|worked|working|employed) (?:at|for|by) {_NAME}",
        changes=False,
    ),
)
_WHO_ZH = rf"^(?P<subject>[^，。；]{{1,10}}?){_TIME_ZH}"
_CHINESE = (
    _pattern(
        "home", rf"{_WHO_ZH}(?:住在|定居在?|居住在|家在)(?P<value>[^，。；]{{2,15}})", changes=False
    ),
    _pattern(
        "home",
        rf"{_WHO_ZH}(?:从(?P<left>[^，。；]{{2,10}}?))?搬家?(?:到|去|回|至)了?(?P<value>[^，。；]{{2,15}})",
        changes=True,
    ),
    _pattern(
        "employer",
        rf"{_WHO_ZH}(?:从(?P<left>[^，。；]{{2,12}}?))?(?:跳槽|换)(?:到|去)了?(?P<value>[^，。；]{{2,15}}?)(?:工作|上班|任职|$)",
        changes=True,
    ),
    _pattern(
        "employer",
        r"^(?P<subject>[^，。；]{1,10}?)(?:现在|目前|如今)在(?P<value>[^，。；]{2,15}?)(?:工作|上班|任职)",
        changes=True,
    ),
    _pattern(
        "employer",
        rf"{_WHO_ZH}(?:在(?P<value>[^，。；]{{2,15}}?)(?:工作|上班|任职)|(?:就职于|任职于)(?P<where>[^，。；]{{2,15}}))",
        changes=False,
    ),
    _pattern(
        "assignment",
        rf"{_WHO_ZH}(?:从(?P<left>[^，。；]{{2,12}}?))?(?:被?调|转|换|分配|派)(?:到|去)了?(?P<value>[^，。；]{{1,14}}?(?:项目|组|团队|部门?|线))",
        changes=True,
    ),
    _pattern(
        "assignment",
        r"^(?P<subject>[^，。；]{1,10}?)(?:现在|目前|如今|改为?|转而)(?:负责|跟进|主管)(?P<value>[^，。；]{2,15})",
        changes=True,
    ),
    _pattern(
        "assignment",
        r"^(?P<subject>[^，。；]{1,10}?)(?:主要)?(?:负责|跟进|主管)(?P<value>[^，。；]{2,15})",
        changes=False,
    ),
)

_ATTITUDE_EN = re.compile(
    rf"{_WHO}(?P<verb> (?:(?:really|also|still|now|absolutely|just|do|does) )*(?:loves?|likes?|enjoys?|adores?|hates?|dislikes?|detests?"
    r"|(?:do not|don't|does not|doesn't|no longer|never) (?:really |even )?(?:like|love|enjoy)s?|(?:can't|cannot|can not) stand))"
    r" (?P<value>[^,.;]{2,60})",
    re.IGNORECASE,
)
_NEGATIVE_EN = re.compile(
    r"hate|dislike|detest|\bnot\b|n't\b|no longer|never|cannot", re.IGNORECASE
)
_ATTITUDE_ZH = re.compile(
    rf"{_WHO_ZH}(?P<verb>(?:很|非常|特别|最|真|也|还)*(?:不再喜欢|不喜欢|不爱|喜欢|热爱|爱|讨厌|厌恶|受不了))(?P<value>(?:吃|喝|看|听|玩)?[^，。；]{{1,20}})"
)
_NEGATIVE_ZH = re.compile(r"不|讨厌|厌恶")
_EMPTY_WORDS = re.compile(
    r"\b(?:now|any ?more|at all|so much|very much|a lot|these days)\b|了|啦|(?:吃|喝|看|听|玩)(?=.)"
)
_FAVOURITE = re.compile(
    r"^(?P<subject>my|our|[^,.;]{1,30}?'s) (?:\w+ ){0,2}?favou?rite (?P<what>[a-z][a-z ]{1,30}?) (?:is|was) (?:now )?(?P<value>[^,.;]{2,60})"
    r"|^(?P<subject_zh>[^，。；]{1,8}?)(?:现在|目前)?最(?:喜欢|爱)的(?P<what_zh>[^，。；]{1,8}?)(?:现在)?是(?P<value_zh>[^，。；]{1,20})",
    re.IGNORECASE,
)
FIRST_PERSONS = frozenset({"i", "我", "本人"})


@lru_cache(maxsize=READINGS_KEPT)
def relation_in(sentence: str) -> Relation | None:
    """What one sentence says of its subject, or None when it is not of these kinds."""
    line = cleaned(sentence).strip(" .!。！")
    return _favourite(line) or _attitude(line) or _single_valued(line)


def is_change(new: Relation, old: Relation) -> bool:
    """Whether the new statement ends the old one; the subjects are the caller's to compare."""
    if not new.kinds & old.kinds or not new.value or not old.value:
        return False
    if "attitude" in new.kinds:
        return new.value == old.value and new.is_positive != old.is_positive
    if new.left and not new.left & old.value:
        return False
    return new.changes and not new.value <= old.value


def attribute_of(relation: Relation) -> str:
    """The attribute of a subject key: the same for both sides of a change."""
    if "attitude" in relation.kinds:
        return f"likes {' '.join(sorted(relation.value))}"
    return min(relation.kinds) if len(relation.kinds) == 1 else ""


def _favourite(line: str) -> Relation | None:
    """There is one favourite of a kind, so naming another needs no "now"."""
    match = _FAVOURITE.search(line)
    if match is None:
        return None
    what, value = match["what"] or match["what_zh"], match["value"] or match["value_zh"]
    subject = (match["subject"] or match["subject_zh"]).casefold().removesuffix("'s")
    kinds = frozenset({f"favourite {what.casefold()}"})
    subject = "i" if subject in ("my", "our") else subject
    return Relation(kinds, subject, content_terms(value), frozenset(), True, True)


def _attitude(line: str) -> Relation | None:
    chinese = is_chinese(line)
    match = (_ATTITUDE_ZH if chinese else _ATTITUDE_EN).search(line)
    if match is None:
        return None
    negative = (_NEGATIVE_ZH if chinese else _NEGATIVE_EN).search(match["verb"])
    value = content_terms(_EMPTY_WORDS.sub(" ", match["value"]))
    return Relation(
        frozenset({"attitude"}), _subject(match), value, frozenset(), negative is None, False
    )


def _single_valued(line: str) -> Relation | None:
    patterns = _CHINESE + _OCCUPATION_ZH if is_chinese(line) else _ENGLISH + _OCCUPATION
    for kinds, pattern, changes in patterns:
        match = pattern.search(line)
        if match is not None:
            groups = match.groupdict()
            return Relation(
                kinds,
                _subject(match),
                _terms(groups.get("value") or groups.get("where")),
                _terms(groups.get("left")),
                True,
                changes,
            )
    return None


def _subject(match: re.Match[str]) -> str:
    return match["subject"].strip().casefold()


def _terms(value: str | None) -> frozenset[str]:
    return content_terms(_AFTER_VALUE.sub("", value)) if value else frozenset()

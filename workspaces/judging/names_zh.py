"""Names in Chinese sentences."""

import re

from workspaces.judging.mentions import (
    CHINESE_EVENT_HEADS,
    CHINESE_HEAD_TYPES,
    EVENT_KINDS,
    Mention,
    Role,
)
from workspaces.judging.placeholders import COMMON_ACRONYMS, is_placeholder
from workspaces.judging.surnames import NOT_PEOPLE, NOT_TITLED, SURNAMES

_HAN = r"\u4e00-\u9fff"
_DATE = (
    r"(?:\d+年)?\d+月\d*[日号]?(?:\d+点)?|昨天|今天|前天|明天|后天|昨晚|今早|上周[一二三四五六日]?|这周|本周|下周[一二三四五六日]?"
    r"|上个?月|这个?月|下个?月|去年|今年|明年|最近|目前|现在|之前|以前|刚才|后来|从今天起|周[一二三四五六日]|星期[一二三四五六日]"
)
_LEAD = re.compile(
    rf"(?:(?:{_DATE}|请|记住|另外|还有|然后|但是?|不过|所以|因为|由于|如果|当|只有|其实|而且|同时|并且|按规定|据说|听说|原来|大家|我们|我"
    rf"|(?:决定|商定|约定|规定|确定|同意|宣布|通知)[，,]?|把|将|让|那次|这次|那个|这个|我们的|公司的?|客户|项目|新(?![兴华浪疆闻能媒生年春鲜品手加东])的?|老的?"
    rf"|[{_HAN}\d\s]{{1,12}}(?:之后|以后|显示|说明|表明)[，,]?|[{_HAN}]{{1,6}}(?:里|中(?![心间国文午台]))[，,]?)[\s，,：:]*)*"
)
SHORTEST_CALLED = 3
_CLAUSE = re.compile(r"[^，。；;！!？?,\n]+")
_KINDS = CHINESE_HEAD_TYPES | CHINESE_EVENT_HEADS
_HEADS = "|".join(sorted(_KINDS, key=len, reverse=True))
_SYSTEM = re.compile(
    rf"(?P<name>(?:[A-Za-z][\w-]*\s?)?[{_HAN}A-Za-z\d]{{0,8}}?(?P<head>{_HEADS}))(?![性化级员商师]|工程师|管理员)"
)
_GENERIC_FRONT = re.compile(
    r"^(?:这[个套]?|那[个套台]?|该|本|我们的?|你们的?|他们的?|新(?![兴华浪疆闻能媒生年春鲜品手加东])的?|旧的?|老的?|整个|所有的?|每[个套]|各个?|一[个套]|[两三几多]个|其他的?|另一个|某个|全部的?|现有的?)"
)
_VERB_FRONT = re.compile(
    r"觉得|认为|增进|共享|享受|偶遇|遇到|遇见|看到|看了|听了|举办|举行|表彰|探讨|提升|加强|作为|使用|用起|促进|推动|分享|展示|学习|参加|介绍|体验|关注|打造|优化|改善|提高|建立|讨论|研究|推出|了解|支持|完善|帮助|针对|通过|关于|成立|访问|调用|连接"
)
# A function word inside means that the run crossed a phrase, so it is no name.
_CROSSED = re.compile(
    r"^[的了是在把被给从到由向和与及或但就都也还又很要会]|(?<=.)[的了是在把被将给对从到由向和与及或但就都也还又很要会能]|一[场个次届]|这[场个次届]|没有|负责|接手|喜欢|加入|使用|发布到|部署|升级"
)
# Words that hold one of those characters and are nouns all the same.
_FUNCTION_LETTER_WORDS = re.compile(
    r"能[力源量]|[功智性节]能|社会|会[员议展]|机会|要[点素求]|重要|对[象接]|给水|向量|方向|都市|首都"
)
_SURNAME = "|".join(sorted(SURNAMES, key=len, reverse=True))
_NEVER_GIVEN = re.compile(r"[的了过上下里用啥是在有不也都很就着给把被让个]")
# What only people do. A name of two characters needs it: 成长, 单身 and 路过 look like names too.
_PERSONAL = (
    r"负责|喜欢|习惯|偏好|讨厌|加入|担任|入职|离职|毕业|接手|接替|休(?:年)?假|请假|住在|来自|说|告诉|维护|管着?|擅长|过敏|养了|结婚|调(?:去|到|任)|兼"
    r"|的(?:生日|邮箱|电话|手机|账号|职位|老家|学历|爱好|工号|微信|办公)|在[^，。]{1,10}(?:工作|上班|办公|读|学)|是(?:我|我们|公司|团队|组里|[^，。]{0,10}(?:负责人|经理|工程师|老师|医生|同事|组长|主管|总监|律师|设计师|护士|学生|接口人|联系人))"
)
_AFTER_PERSON = (
    r"(?=[\s\d]|是|在|的|和|也|已|每|要|把|被|从|去|升|对|不|现在|今年|去年|昨天|上周|下周|有|会|主要|买|爱|提|建议|决定|之前|以前|目前|刚|将|带|做|写|用|学|发|改|明天|$"
    rf"|{_PERSONAL})"
)
_PERSON = re.compile(
    rf"(?P<name>(?:{_SURNAME})[{_HAN}])(?=(?:{_DATE})*(?:也|已经?|主要|现在|一直|正式)?(?:{_PERSONAL}))"
    rf"|(?P<full>(?:{_SURNAME})[{_HAN}]{{2}}){_AFTER_PERSON}"
)
_TITLED = re.compile(
    rf"(?P<name>[老小阿](?:{_SURNAME})|(?:{_SURNAME})(?:工|总|老师|经理|医生|先生|女士|主任|教授|律师|师傅|队长|姐|哥)){_AFTER_PERSON}"
)
_QUOTED = re.compile(r"[「“『《](?P<name>[^」”』》，。！？]{2,20})[」”』》]")
_CUSTOMER = re.compile(
    rf"(?P<name>[{_HAN}A-Za-z\d]{{2,10}}?)(?:{_DATE})?(?:正式|刚|已经?)?(?:签约|成为|是我们的?)[^，。]{{0,6}}客户"
)
_DEFINED = re.compile(
    rf"(?P<name>[{_HAN}A-Za-z\d]{{2,6}}?)是(?:我们|公司|团队|组里|部门)[^，。]{{0,12}}?(?P<head>{_HEADS}|工具|产品)$"
)
# 我住的那个小区叫绿洲家园, 我用的手机是苹果iPhone13: what something of the speaker's is called.
_PLACE = "小区|公园|商场|超市|景区|景点|餐厅|饭店|酒店|医院|学校|大学|中学|小学|公司|单位|书店|咖啡馆|咖啡店|健身房|博物馆|图书馆|体育馆|酒吧|剧院|影院|花园|广场"
_CALLED = re.compile(
    rf"(?:{_DATE}|将要?|要|手里|手头上)*我(?:们)?(?P<what>[{_HAN}]{{0,10}}?)的?(?:[那这一][个家所座款部台]|)(?P<kind>[{_HAN}]{{0,4}}?)"
    rf"(?P<verb>叫做?|名叫|名为|是)(?P<name>[{_HAN}A-Za-z\d][{_HAN}A-Za-z\d .·-]{{1,18}}[{_HAN}A-Za-z\d])$"
)
# What somebody else's is called is about that person.
_OF_SOMEBODY = re.compile(
    r"[爸妈爷奶婆哥弟姐妹叔婶舅姑姨伯嫂侄孙妻]|[外老公]公|丈夫|上司|领导|老板|同[事学]|朋友|儿子|女儿|老师|孩子|他|她"
)
_COUNTED = re.compile(r"一?[个家所座款部台位名份间种只条]|[两三几多]")
_MODEL = re.compile(r"(?=[^\n]*[A-Za-z])(?=[^\n]*\d|[^\n]*[A-Z])")
# The dot inside a name: 玛丽·居里, 春茗·夜话. Nothing else is joined by it at the start of a clause.
_DOTTED = re.compile(
    rf"(?P<name>[{_HAN}A-Za-z\d]{{1,8}}(?:[·•・‧][{_HAN}A-Za-z\d]{{1,10}}?)+)"
    rf"(?=[的是在将会已于由有也和与把被]|$|{_PERSONAL})"
)
_LATIN = re.compile(
    r"(?P<name>[A-Z][A-Za-z\d.+-]*[A-Za-z\d](?: [A-Z][A-Za-z\d-]+)*|[a-z]+(?:-[a-z\d]+)*-\d+)"
)


def find_names(sentence: str, *, index: int) -> list[Mention]:
    """Names that open a clause, in order; those deeper in a clause are found as objects only
    when they are built like a system's name."""
    found: list[Mention] = []
    for clause in _CLAUSE.finditer(sentence):
        start = clause.start() + _lead_length(clause.group())
        opening = _opening_name(sentence[start : clause.end()], index=index, start=start)
        if opening is None:
            opening = _called(clause.group(), index=index, start=clause.start())
        if opening is not None:
            found.append(opening)
    return found


def _called(clause: str, *, index: int, start: int) -> Mention | None:
    """A thing or a place of the speaker's, by the name that the clause ends with."""
    told = clause.strip()
    match = _CALLED.fullmatch(told)
    if match is None or "的" not in match.group()[: match.start("verb")]:
        return None
    name = match["name"].strip()
    if is_placeholder(name) or _crosses(name) or len(name) < SHORTEST_CALLED:
        return None
    front = f"{match['what']}{match['kind']}"
    if _OF_SOMEBODY.search(front) or _COUNTED.match(name):
        return None
    is_place = any(re.search(rf"(?:{_PLACE})$", words) for words in (front, name))
    if not is_place and _MODEL.match(name) is None:
        return None
    place = start + clause.index(told) + match.start("name")
    return Mention(name, "topic", "subject", index, place, 0.75)


def role_at(sentence: str, start: int) -> Role:
    """The role of what begins at `start`, from the rest of its clause before it."""
    lead = re.split(r"[，。；;！!？?,\n]", sentence[:start])[-1]
    if _LEAD.fullmatch(lead):
        return "subject"
    if re.search(r"(?:把|将|对|为|给|关于)$", lead) and len(lead) <= 10:
        return "possessor"
    return "object"


def _lead_length(clause: str) -> int:
    match = _LEAD.match(clause)
    return match.end() if match else 0


def _opening_name(rest: str, *, index: int, start: int) -> Mention | None:
    for reader in (_quoted, _dotted, _titled, _customer, _defined, _system, _person, _latin):
        named = reader(rest)
        if named is not None:
            name, kind, confidence = named
            return Mention(name, kind, "subject", index, start, confidence)
    return None


Named = tuple[str, str, float]


def _quoted(rest: str) -> Named | None:
    match = _QUOTED.match(rest)
    if not match or is_placeholder(match["name"]):
        return None
    after = re.match(_HEADS, rest[match.end() :])
    kind = _KINDS[after.group()] if after else "topic"
    return match["name"], kind, 0.75


def _dotted(rest: str) -> Named | None:
    match = _DOTTED.match(rest)
    if not match or _VERB_FRONT.match(match["name"]) or _crosses(match["name"]):
        return None
    is_person = re.match(_PERSONAL, rest[match.end() :]) is not None
    return match["name"], "person" if is_person else "topic", 0.75


def _titled(rest: str) -> Named | None:
    match = _TITLED.match(rest)
    if not match or match["name"] in NOT_TITLED:
        return None
    return match["name"], "person", 0.75


def _customer(rest: str) -> Named | None:
    match = _CUSTOMER.match(rest)
    if not match or is_placeholder(match["name"]) or _crosses(match["name"]):
        return None
    return match["name"], "customer", 0.78


def _defined(rest: str) -> Named | None:
    match = _DEFINED.match(rest)
    if not match or is_placeholder(match["name"]) or _crosses(match["name"]):
        return None
    return match["name"], _KINDS.get(match["head"], "system"), 0.75


def _crosses(name: str) -> bool:
    return _CROSSED.search(_FUNCTION_LETTER_WORDS.sub("", name)) is not None


def _system(rest: str) -> Named | None:
    match = _SYSTEM.match(rest)
    if not match:
        return None
    name = match["name"].strip()
    specific = _GENERIC_FRONT.sub("", name)
    is_act = _VERB_FRONT.match(name) is not None
    front = specific.removesuffix(match["head"]).strip()
    is_bare = len(front) < _shortest_front(front, head=match["head"], after=rest[match.end() :])
    if specific != name or is_bare or is_act or is_placeholder(name) or _crosses(front):
        return None
    return name, _KINDS[match["head"]], 0.85


def _shortest_front(front: str, *, head: str, after: str) -> int:
    """A kind of event has two characters before its head: 产品发布会. So has a coined name of one,
    of which something is told: 趣跑购物节的规模."""
    is_told = after.startswith("的") and front not in EVENT_KINDS
    return 2 if head not in CHINESE_EVENT_HEADS or is_told else 3


def _person(rest: str) -> Named | None:
    match = _PERSON.match(rest)
    name = (match["name"] or match["full"]) if match else ""
    if not name or name[:2] in NOT_PEOPLE or _NEVER_GIVEN.search(name[1:]):
        return None
    return name, "person", 0.75


def _latin(rest: str) -> Named | None:
    match = _LATIN.match(rest)
    if (
        not match
        or is_placeholder(match["name"])
        or match["name"].split()[0].upper() in COMMON_ACRONYMS
    ):
        return None
    if match["name"].isupper() and len(match["name"]) <= 3:
        return None
    return match["name"], "system", 0.7

"""Words that are never the name of an entity."""

import re
import unicodedata
from functools import lru_cache

from workspaces.judging.stopwords import ENGLISH_STOPWORDS
from workspaces.judging.wordlists import word_set

COMMON_ACRONYMS = word_set(
    """API URL URI HTTP HTTPS JSON XML YAML HTML CSS SQL CPU GPU RAM SSD CI CD UI UX DB OS IP DNS TLS SSL SSH VPN PDF CSV
UTC GMT CET FAQ TODO TBD ETA ASAP FYI OK ID PR QA SLA SLO KPI OKR PM AM EU US UK USA AI ML LLM SDK CLI IDE REST RPC TCP UDP
HR IT CEO CTO CFO NDA VAT USD EUR AWS VM"""
)
_DAYS_AND_MONTHS = word_set(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
spring summer autumn winter fall easter christmas weekend today yesterday tomorrow tonight morning evening afternoon"""
)
_COMMON = word_set(
    """project projects team teams user users customer customers client clients service services system systems server servers
app application database gateway platform pipeline process workflow topic person people someone somebody nobody everyone
everybody everything nothing something anyone assistant agent bot human owner admin manager engineer colleague friend boss
company office department meeting standup review release deployment deploy deploys backup backups restore rollback test tests
build builds version update upgrade secret secrets log logs error errors issue issues bug bugs ticket task tasks job jobs
lunch dinner breakfast coffee weather traffic weekend holiday vacation birthday budget deadline documentation docs config
configuration setting settings default preference preferences identity memory note notes fact facts question answer answers
thing things stuff it this that these those he she they we you i me us them here there hi hello hey thanks thank please sorry
ok okay yes no sure great cool nice wow oh ah well also however therefore otherwise meanwhile finally first second third next
last new old good bad now then later soon maybe perhaps always never sometimes usually often only just still already most
some any many few all both each every another other such what who whom whose which when where why how did does do is are was
were has have had can could will would should must may might let if unless while although because since before after during
for from with without within about above below under over between against among through per via at by in into of off on onto
out to toward until upon as like than and or but nor so yet remember note reminder fyi good afternoon evening night dear
check run restart show tell give open send write create make add remove delete update fix start stop try use using mr mrs ms dr
unknown none null n/a na test example sample foo bar general misc miscellaneous other uncategorized uncategorised entity name
mom mum dad sis bro grandma grandpa mother father sister brother guys folks everyone congrats congratulations welcome speaking
sounds looks seems feels lets let's keep glad happy love hope can't don't it's that's what's here's there's family friends kids life music art
english chinese german french spanish japanese"""
)
_CHINESE = word_set(
    """我们 你们 他们 她们 大家 自己 用户 客户 项目 团队 系统 服务 平台 网关 流程 数据库 集群 看板 应用 模块 仓库 小组 部门 公司 网站 接口 后台 计划 工程
助手 助理 机器人 某人 有人 别人 同事 朋友 老板 领导 同学 老师 东西 事情 问题 答案 内容 信息 记忆 偏好 身份 默认 其他 未知 测试 示例 今天 昨天 明天
名称 实体 话题 主题 通用 某个 服务器 服务端 客户端 组件 机制 规范 引擎 业务系统 新系统 旧系统 老系统 子系统 操作系统 生产系统 线上系统 测试系统 本系统 该系统 整个系统 第三方服务 微服务
云服务 云平台 售后服务 客户服务 数据平台 业务流程 工作流程 整个流程 生产数据库 测试数据库 主数据库 从数据库 生产集群 测试集群 开发团队 测试团队 我们团队
新项目 老项目 旧项目 下个项目 上个项目 所有项目 所有服务 每个服务 其他服务 各个系统 项目组 新平台 旧平台 新功能 学习计划 旅行计划 工作计划"""
)


_ENGLISH_KIN_AND_ROLES = word_set(
    """wife husband partner girlfriend boyfriend son sons daughter daughters kid child children baby parent parents brothers sisters
uncle aunt cousin neighbour neighbor roommate landlord teacher doctor student colleagues friends coworker supervisor employee
anybody end placeholder undefined chat chats message messages conversation conversations session speaker chatbot ai llm entities
preferences processes companies members member guest stranger visitor caller names development management"""
)
_CHINESE_KIN_AND_ROLES = word_set(
    """爸爸 妈妈 父亲 母亲 爸妈 父母 爷爷 奶奶 外公 外婆 哥哥 弟弟 姐姐 妹妹 老公 老婆 丈夫 妻子 太太 孩子 小孩 儿子 女儿 家人 亲戚 叔叔 阿姨
男朋友 女朋友 室友 房东 邻居 上司 下属 主管 经理 员工 成员 医生 学生 人 人员 男人 女人 管理员 说话人 发言人 访客 对话 会话 聊天 消息 工作流 开发 企业 机构 单位 学校"""
)
_GENERIC = _COMMON | _ENGLISH_KIN_AND_ROLES | _DAYS_AND_MONTHS | ENGLISH_STOPWORDS
_GENERIC_CHINESE = _CHINESE | _CHINESE_KIN_AND_ROLES
# "User 1", "客户A" are numbered, not named.
_NUMBERED = re.compile(
    r"(?:user|customer|client|speaker|person|human|agent|assistant|bot|guest|member|employee)[ #_-]*\d*"
)
_OWNER_ZH = re.compile(
    r"(?:我们|你们|他们|她们|咱们|大家|我|你|您|他|她|咱)(?:家)?的?|[这那某](?:[个位家套名些种条])?|[该本]|[一每各两几](?:[个位家套名])"
    r"|(?:新|旧|老|所有|全部|其他|另外|普通|匿名|终端|未知|默认|当前|智能|虚拟|语音|ai)的?|另一?[个位家]"
)
_ENDING_ZH = re.compile(r"(?:们|[\da-z甲乙丙丁]+|[一二三四五])$")
_DATE_ZH = re.compile(
    r"(?:周|星期|礼拜)[一二三四五六日天末]|[\d一二三四五六七八九十]{1,3}[月日号年](?:份)?"
)


@lru_cache(maxsize=4096)  # each chunk asks again for the words and names that are about
def is_placeholder(name: str) -> bool:
    """True for words that name no particular thing, in any case and width, whoever owns it."""
    folded = " ".join(unicodedata.normalize("NFKC", name).split()).casefold().strip(" .,:;'\"“”")
    if len(folded) < 2 or folded.upper() in COMMON_ACRONYMS or _NUMBERED.fullmatch(folded):
        return True
    words = [word.removesuffix("'s").removesuffix("’s").strip("'’") for word in folded.split()]
    return all(word in _GENERIC for word in words) or _is_generic_chinese(folded)


def _is_generic_chinese(folded: str) -> bool:
    """The word itself, or with what points to it: 我们的项目, 该用户, 用户1, 用 户."""
    bare = folded.replace(" ", "")
    if _DATE_ZH.fullmatch(bare):
        return True
    forms = {bare, _ENDING_ZH.sub("", bare)}
    forms |= {form[owned.end() :] for form in forms if (owned := _OWNER_ZH.match(form))}
    return any(form in _GENERIC_CHINESE or _is_two_generic(form) for form in forms)


def _is_two_generic(form: str) -> bool:
    return any(
        form[:place] in _GENERIC_CHINESE and form[place:] in _GENERIC_CHINESE
        for place in range(2, len(form) - 1)
    )

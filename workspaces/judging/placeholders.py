"""Words that are never the name of an entity."""

import unicodedata

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


def is_placeholder(name: str) -> bool:
    """True for words that name no particular thing, in any case and width."""
    folded = " ".join(unicodedata.normalize("NFKC", name).split()).casefold().strip(" .,:;'\"")
    if folded.startswith("the "):
        folded = folded[4:]
    known = folded in _COMMON or folded in _CHINESE or folded in _DAYS_AND_MONTHS
    return (
        known or folded in ENGLISH_STOPWORDS or len(folded) < 2 or folded.upper() in COMMON_ACRONYMS
    )

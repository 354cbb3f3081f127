"""Words that say what a question wants, in English and Chinese."""

import re


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


DELTA = _any_of(
    r"\bwhat(?:'s| is| has| have)?\s+(?:been\s+)?(?:changed|new)\b",
    r"\b(?:what|anything)\s+(?:\w+\s+)?(?:did|have|has|was)\s+(?:we|you|i|memory)?\s*(?:been\s+)?(?:learn(?:ed|t)?|changed?)\b",
    r"\bwhat(?:\s+has|'s)?\s+happened\s+(?:in|on|last|this|yesterday|today|since|over|during|between|recently)\b",
    r"\b(?:changes|updates|news|differences?|progress)\s+(?:since|from|in|on|this|last|over|about)\b",
    r"\b(?:any|recent|latest)\s+(?:changes|updates|news)\b",
    r"发生了?(?:什么|哪些)(?:变化|变更|改变)?|有?(?:什么|哪些|何|没有)(?:新的?)?(?:变化|变更|改变|更新|进展|动态)",
    r"学到了?(?:什么|哪些)|变了(?:什么|哪些)|有什么新|新增了?(?:什么|哪些)",
)
LEARNED = _any_of(
    r"\b(?:learn(?:ed|t)?|remembered|stored|recorded|found out)\b",
    r"学到|学会|了解到|得知|记住了|记录了|新增",
)
PLANNING = _any_of(
    r"\b(?:what|how)\s+should\s+(?:we|i)\b",
    r"\bnext\s+steps?\b|\bhelp\s+(?:me|us)\s+(?:to\s+)?(?:plan|prepare)\b",
    r"^\s*(?:please\s+)?(?:plan|prepare|draft|outline)\b",
    r"下一步|接下来(?:该|要|应该)|(?:应该|该|要)(?:怎么|如何)(?:做|办|安排|推进|准备)",
    r"(?:帮我|帮我们|请)(?:做|写|制定|安排|规划|计划|准备)|制定.{0,12}(?:计划|方案)",
)
BRIEFING = _any_of(
    r"\b(?:summari[sz]e|summary|overview|recap|brief(?:ing)?|catch\s+(?:me|us)\s+up|background)\b",
    r"\bwhat\s+do\s+(?:we|you|i)\s+know\s+(?:about|of)\b|\btell\s+(?:me|us)\s+(?:all\s+|everything\s+)?about\b",
    r"\bwhat\s+(?:should|does|do|must|would)\b.{1,60}?\b(?:know|be\s+aware)\s+(?:about|of)\b",
    r"\beverything\s+(?:about|on|we)\b|\b(?:status|state)\s+of\b",
    r"总结|概述|概括|综述|汇总|梳理|简报|概况|概览|回顾一下|介绍一下|整体情况|总体情况|来龙去脉",
    r"(?:知道|了解|掌握)(?:些)?(?:什么|哪些)|(?:都)?有哪些(?:情况|信息)|哪些(?:情况|信息|内容)",
    r"[\u4e00-\u9fff]{0,6}(?:需要|应该|应当|必须)(?:知道|了解|掌握)",
)
PROCEDURE = _any_of(
    r"\bhow\s+(?:do|does|can|to|should|would)\b(?!\s+(?:many|much|long|often|old))",
    r"\b(?:steps?|procedure|process|runbook|instructions|workflow|checklist)\s+(?:for|to|of)\b",
    r"(?:怎么|怎样|如何)(?!样|回事|称呼|看待|评价)|步骤|流程|操作方法|操作手册",
)
# Such questions name an exact thing, whatever their form.
EXACT = _any_of(
    r"[\"“”「」'`][^\"“”「」'`]{2,}[\"“”「」'`]",
    r"\b\w+[_./:@-]\w+[\w./:@-]*\b",
)
# "What happened to Atlas", "how does Atlas work": about Atlas, and nothing else in particular.
OPEN_ASKING = _any_of(
    r"\b(?:happen(?:s|ed|ing)?|go(?:es|ing)?\s+on|wrong)\b|(?<!\w)work(?=\s*[?.!]*\s*$)",
    r"发生了?|出了(?=什么)|(?<=什么)(?:事情?|状况)|怎么回事|运作|运转",
)
# Questions after a person or a group, and words that stand for a group.
WHO = _any_of(r"\bwho(?:m|se)?\b", r"谁|哪位")
GROUP = _any_of(r"\b(?:teams?|departments?|compan(?:y|ies)|vendors?)\b", r"组|团队|部门|公司")
# Questions after a moment; "when" that joins two clauses is none.
WHEN = _any_of(
    r"\bwhen\s+(?:did|does|do|is|are|was|were|will|has|have|had|can|could|should|would)\b",
    r"\b(?:what|which)\s+(?:date|day|month|year|week|time)\b|\bhow\s+long\s+ago\b",
    r"什么时[候间]|何时|哪[一]?[天年]|哪个月|几[号月]|什么日[子期]",
)
RECENT = _any_of(
    r"\b(?:latest|newest|most\s+recent(?:ly)?|recent(?:ly)?|lately|currently|current|now)\b",
    r"最新|最近|近来|近期|目前|现在|当前",
)
# How it was: what newer facts took the place of is asked for as well.
HISTORY = _any_of(
    r"\bused\s+to\b|\b(?:previously|formerly|originally|at\s+first|in\s+the\s+beginning)\b",
    r"\b(?:history|earlier\s+versions?|former|previous|old|original)\b(?=.*\b(?:was|were|of|value|one)\b)",
    r"原来|原先|最初|最早|起初|曾经|过去(?!\s*[\d一二两三四五六七八九十几])|历史上?|变更记录",
)
# How things stood at a moment, not what had been said until then.
AS_OF = _any_of(r"\bas\s+of\b", r"截至|截止")
INTEGRATION = _any_of(
    r"\b(?:synced|synchroni[sz]ed|imported|integration|integrations|fetched)\b",
    r"集成数据|同步(?:过来|的)|导入的|外部(?:系统|数据)",
)
# What a question would have to be looked up in, when memory does not know.
LOCAL_SOURCE = _any_of(
    r"\b(?:files?|director(?:y|ies)|folders?|repo(?:sitory)?|codebase|source\s+code|config(?:uration)?|readme|logs?)\b",
    r"(?<!\w)[~.]?/[\w.-]+(?:/[\w.-]+)+",
    r"文件|目录|文件夹|代码|源码|配置|日志",
)
SESSION_SOURCE = _any_of(
    r"\b(?:just\s+now|earlier\s+in\s+this|this\s+(?:session|conversation|chat|thread))\b",
    r"刚才|刚刚|本次会话|这次对话|这个会话|上文",
)
WEB_SOURCE = _any_of(
    r"\b(?:weather|forecast|stock\s+price|exchange\s+rate|news|website|web\s*page|online|public(?:ly)?)\b",
    r"天气|股价|汇率|新闻|官网|网站|网上|公开",
)
# Which provider a question is likely to mean, by what it speaks of.
PROVIDER_TOPICS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (_any_of(r"\be-?mails?\b|\binbox\b|邮件|邮箱"), ("gmail", "outlook", "imap", "mail", "email")),
    (_any_of(r"\bcalendar\b|\bmeetings?\b|日历|日程|会议"), ("calendar", "gcal", "outlook")),
    (_any_of(r"\bissues?\b|\bpull\s+requests?\b|\bcommits?\b|提交|合并请求"), ("github", "gitlab")),
    (_any_of(r"\btickets?\b|\bsprints?\b|工单"), ("jira", "linear", "zendesk")),
    (_any_of(r"\bcustomers?\b|\bleads?\b|\bdeals?\b|客户"), ("salesforce", "hubspot", "crm")),
    (_any_of(r"\bchannels?\b|\bslack\b|频道|群里"), ("slack", "teams", "feishu", "dingtalk")),
    (
        _any_of(r"\bdocs?\b|\bdocuments?\b|\bwiki\b|文档"),
        ("notion", "confluence", "drive", "folder"),
    ),
)
CONSTRAINT = _any_of(
    r"\bonly\s+(?:[\w-]+\s+){1,4}(?:may|can|must|should)\b",
    r"\b(?:must(?:\s+not|n't)?|never|always|only\s+(?:if|when|after|by|on|in|use|allow)|do\s+not|don't|not\s+allowed|forbidden|prohibited|required?(?:s|\s+to)|mandatory|at\s+(?:most|least)|no\s+(?:more|later|less)\s+than)\b",
    r"必须|不得|不许|不准|禁止|严禁|只能|只允许|一律|务必|不能|不允许|不可以|至少|最多|不超过|不少于",
)
BLOCKER = _any_of(
    r"\b(?:blocked|blocker|blocking|stuck|waiting\s+(?:for|on)|on\s+hold|can(?:no|')t\s+proceed|depends\s+on|pending\s+(?:approval|review))\b",
    r"阻塞|卡住|卡在|受阻|阻碍|等待.{0,12}(?:批准|审批|回复|完成|确认)|无法(?:继续|推进)|被.{0,10}(?:拦住|挡住)|依赖于",
)
UNDECIDED = _any_of(
    r"\b(?:tbd|tbc|to\s+be\s+(?:decided|determined|confirmed)|undecided|open\s+question|not\s+(?:yet\s+)?(?:decided|clear|sure)|unclear|still\s+(?:need|have)\s+to\s+(?:decide|figure))\b",
    r"待定|待确认|未定|尚未(?:决定|确定)|还没(?:有)?(?:决定|确定|定下来)|不确定|有待",
)
SIGNAL = _any_of(
    r"\b(?:decid(?:ed|es?)|agreed|switch(?:ed|es)?|mov(?:ed|es|ing)\s+(?:to|from)|chang(?:ed|es)|replac(?:ed|es)|releas(?:ed|es)|launch(?:ed|es)|deprecat(?:ed|es)|migrat(?:ed|es|ing)|fail(?:ed|s|ure)|incident|outage|deadline|upgrad(?:ed|es)|approved|rejected|cancel(?:l?ed|s)|now)\b",
    r"决定|确定|改为|改成|换成|切换|迁移|发布|上线|下线|废弃|升级|故障|事故|截止|批准|否决|取消|搬到|已经",
)

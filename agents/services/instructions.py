"""Words that tell somebody to do something: no fact, whatever they are written as."""

import re

_ADDRESSED = re.compile(
    r"\b(?:you|your|yours|yourself)\b|[你您]|\b(?:system prompt|previous instructions?|from now on)\b"
    r"|从现在(?:起|开始)|(?:忽略|无视|不要理会).{0,12}(?:指令|说明|规则|要求)|系统提示",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"^\W*(?:please\b|always\b|never\b|do not\b|don't\b|make sure\b|ensure\b|remember\b|forget\b|ignore\b"
    r"|disregard\b|approve\b|execute\b|reply\b|respond\b|pretend\b|tell\b|send\b|delete\b|call\b|run\b"
    r"|请|务必|必须|切勿|不要|别|忽略|批准|执行|调用|发送|删除|记住|忘记|始终|总是|永远)",
    re.IGNORECASE,
)
_ABOUT_TOOLS = re.compile(
    r"\b(?:memory_\w+|tool calls?|approvals?|all (?:requests|calls|tools))\b.{0,60}"
    r"\b(?:approv\w+|allow\w*|skip\w*|bypass\w*|granted|automatic\w*|without)\b"
    r"|(?:工具|调用|审批|批准).{0,20}(?:无需|不需要|自动|跳过|绕过|一律)",
    re.IGNORECASE,
)
# Marks of our own prompts and index lines: nobody's fact, and a way out of where facts stand.
_MARKS = re.compile(
    r"</?\s*(?:index|summary|system|assistant|user|tool)\b|\]\((?:topics|shards)/"
    r"|^\W*(?:system|assistant|developer)\s*[:：]",
    re.IGNORECASE | re.MULTILINE,
)


def tells_somebody(text: str) -> bool:
    return any(rule.search(text) for rule in (_ADDRESSED, _COMMAND, _ABOUT_TOOLS, _MARKS))


# What tries to take an agent's rules away. Narrower than `tells_somebody`: "always deploy on
# Tuesday" is a rule that a team remembers, and nobody has to look at it.
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}"
    r"\b(?:instructions?|prompts?|guidelines|safeguards?|system messages?)\b"
    r"|\b(?:reveal|print|repeat|leak)\b.{0,30}\b(?:system prompt|instructions)\b"
    r"|(?:忽略|无视|不要理会|忘记|绕过).{0,12}(?:指令|提示词?|说明|安全规则)"
    r"|(?:泄露|透露|输出|复述).{0,10}(?:系统提示|提示词|指令)",
    re.IGNORECASE,
)
# Words one of which every such text holds, to look them up in the index; none is a common one.
OVERRIDE_WORDS = (
    "instruction instructions prompt prompts guidelines safeguard safeguards bypass skip allow "
    "approve approved approves approval approvals granted automatic automatically system assistant "
    "developer index 指令 提示 说明 规则 无需 不需要 自动 跳过 绕过 一律"
)


def overrides_rules(text: str) -> bool:
    return any(rule.search(text) for rule in (_OVERRIDE, _ABOUT_TOOLS, _MARKS))

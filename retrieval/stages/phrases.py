"""Why something is missing and what to do next, in the language of the question."""

from holamem.text.languages import language_of

_PHRASES = {
    "outside_time": (
        "Memory speaks of this, but not in the time asked about.",
        "记忆中提到过此事，但不在所问的时间范围内。",
    ),
    "nothing": ("Memory holds nothing about this.", "记忆中没有关于此事的内容。"),
    "loosely_related": (
        "What memory holds is only loosely related to this.",
        "记忆中的内容与此只是略有关联。",
    ),
    "conflict": (
        "{first} and {second} are both current and disagree.",
        "{first} 与 {second} 都是现行内容，但说法不一致。",
    ),
    "stale": (
        "What memory has on this is past the time for which it holds.",
        "记忆中的相关内容已超过有效期。",
    ),
    "little_confidence": (
        "What memory has on this was stored with little confidence.",
        "记忆中的相关内容存入时把握不大。",
    ),
    "provider": ("The question is about what {name} holds.", "所问内容由 {name} 保存。"),
    "session": ("It was said in this session.", "这是在本次会话中说过的。"),
    "local": ("Files of the workspace may hold it.", "工作区的文件中可能有。"),
    "web": ("It is public and changes outside of memory.", "这是公开信息，会在记忆之外变化。"),
    "person": ("Nobody has told memory; a person may know.", "没有人告诉过记忆；也许有人知道。"),
    "fetched": ("The fact was fetched from {name}.", "该事实取自 {name}。"),
    "to_verify": (
        "The fact must be verified before it is used.",
        "该事实在使用前须先核实。",
    ),
    "ask": (
        "Memory does not cover this; ask who may know.",
        "记忆不足以回答；请询问可能知道的人。",
    ),
    "look": ("Memory does not cover this; look there.", "记忆不足以回答；请到该来源查找。"),
    "verify_first": (
        "Some of these facts must be verified first.",
        "其中一些事实须先核实。",
    ),
    "facts_answer": ("The facts above answer the question.", "以上事实可以回答此问题。"),
    "in_part": (
        "Memory answers a part of this; the rest is elsewhere.",
        "记忆只能回答其中一部分；其余须到别处查找。",
    ),
    "covered": ("Memory covers the question.", "记忆足以回答此问题。"),
}


def phrase(key: str, *, asked: str, **values: str) -> str:
    """`asked` is the question, whose language decides. Raises KeyError for an unknown key."""
    english, chinese = _PHRASES[key]
    return (chinese if language_of(asked) == "zh" else english).format(**values)

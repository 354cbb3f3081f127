"""Secrets that somebody names: "password: X", "密码是X", "api_key=X".

The label says that a value may be secret, the form of the value decides: sentences about
passwords are common ("the password is strict", "密码策略"), and masking them destroys memory.
"""

import re
from collections.abc import Iterator

from holamem.text.secret_formats import Finding

_PASSWORDS = r"password|passwd|passphrase|passcode|pwd|(?<=[_-])pass|(?<![a-z])pass(?==)|(?<![a-z])pw(?=\s?[:=])|密码|口令|通行码"
_TOKENS = (
    r"access[ _-]{0,1}key[ _-]{0,1}secret|(?:api|access|secret|private|signing|encryption|account|auth)[ _-]{0,1}key"
    r"|(?:client|app|api|consumer|shared|webhook)[ _-]{0,1}secret|(?<![a-z])secret"
    r"|(?:access|refresh|auth|api|bot|id|session|personal)[ _-]{0,1}token|(?<![a-z])token"
    r"|(?<![a-z])otp(?![a-z])|(?:verification|one-time|login|security)[ _-]code"
    r"|令牌|密钥|私钥|验证码|授权码"
)
# Many harmless things are keys, so a value behind one must look as if a machine had made it.
_KEYS = r"(?<![a-z])key|session[ _-]{0,1}id|secretkey|accesskey|appkey"
_PINS = r"(?<![a-z])(?:pin|cvv|cvc)(?:码)?"
# "password for the staging server is X", "数据库密码(root)是X"
_QUALIFIER = r"(?:\s(?:for|of|on|at|in|to)\s[^\n.!?;:=[]{1,40}?(?=\s(?:is|was)\s|\s?[:=])|\([^\n()]{1,30}\))?"
_LINK = (
    r"(?P<link>\s{0,3}(?::=|=>|->|=|:)\s{0,3}|\s{1,3}(?:(?:has been |was |is )?(?:changed|set|reset|updated|now) to|is now|is|was|to)\s{1,3}:?\s{0,2}"
    r"|\s{0,3}(?:(?:我?设成|统一为|统一是|统一设为|定为|设置为|设置成|修改为|更改为|设为|设成|改为|改成|换成|换为)了?|就是|都是|还是|仍是|是|为|is\s)\s{0,3}:?\s{0,3}"
    r"|\s{0,3})"
)
_VALUE = (
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\n]{1,200})(?P=quote)"
    r"|[“‘「『](?P<bracketed>[^”’」』\n]{1,200})[”’」』]"
    r"|(?P<bare>[!-~]{1,200}))"
)
_NAMED = re.compile(
    rf"(?:(?P<password>{_PASSWORDS})|(?P<token>{_TOKENS})|(?P<key>{_KEYS})|(?P<pin>{_PINS}))"
    rf"[\"'`]?{_QUALIFIER}{_LINK}{_VALUE}"
)
_LABEL_ALONE = re.compile(rf"(?:[a-z0-9]+[ _-])*(?:{_PASSWORDS}|{_TOKENS})")
_LOWER_ASCII = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

_TRAILING = ".,;:?)]}>\"'`"
# What code and documents put where a secret would stand.
_PLACEHOLDER = re.compile(
    r"\[masked:|[<{$%*]|os\.|self\.|settings\.|config\.|env\.|process\.env|getenv|x{3,}$"
    r"|(?:none|null|true|false|str|string|text|bytes|required|optional|undefined|any)\b"
)
# Plain words that say something about a password instead of being one.
_STATES = frozenset(
    [
        "wrong",
        "right",
        "correct",
        "incorrect",
        "valid",
        "invalid",
        "required",
        "optional",
        "expired",
        "strong",
        "weak",
        "secure",
        "insecure",
        "strict",
        "safe",
        "unsafe",
        "missing",
        "empty",
        "blank",
        "unknown",
        "lost",
        "forgotten",
        "different",
        "same",
        "needed",
        "ok",
        "okay",
        "fine",
        "set",
        "unset",
        "good",
        "bad",
        "too",
        "not",
        "being",
        "now",
        "here",
        "there",
        "it",
        "this",
        "that",
        "what",
        "long",
        "short",
        "hidden",
        "secret",
        "private",
        "public",
        "null",
        "none",
        "mandatory",
        "case-sensitive",
        "available",
        "unavailable",
        "important",
        "sensitive",
        "unique",
        "random",
        "default",
        "old",
        "new",
        "up",
        "in",
        "on",
        "at",
        "the",
        "a",
        "an",
        "your",
        "my",
        "our",
        "to",
        "of",
        "mine",
        "yours",
        "his",
        "hers",
        "theirs",
        "out",
        "gone",
        "broken",
        "back",
        "below",
        "above",
        "required-field",
    ]
)
_STATE_ENDINGS = ("ed", "ing")
# Follows "password" in talk about how passwords are kept: SHA256, MD5, OAuth2, PBKDF2.
_TECHNIQUE = re.compile(
    r"(?:sha|md|aes|rsa|oauth|bcrypt|argon|pbkdf|scrypt|base|utf|log|saml)[-_]?\d"
)
SHORTEST_UNLINKED = 6
SHORTEST_TOKEN = 6
SHORTEST_TOKEN_WITHOUT_DIGIT = 16
# Case is gone from the text that is matched, so upper and lower case are counted in the original.
_MADE_BY_A_MACHINE = re.compile(r"[A-Za-z0-9+/_=-]{24,}")
_PIN_DIGITS = re.compile(r"\d{3,8}(?!\d)")


def _ends_its_clause(text: str, end: int) -> bool:
    """A value stands last; a word that goes on ("must be 12 characters") is prose."""
    rest = text[end : end + 4].lstrip(_TRAILING)
    return (
        not rest or not rest.lstrip(" \t").isascii() or rest.lstrip(" \t")[:1] in ("", "\n", "\r")
    )


def _is_mixed(value: str) -> bool:
    return any(c.isdigit() or not c.isalpha() for c in value)


def _is_unlinked_password(match: re.Match[str], value: str) -> bool:
    """ "账号admin密码abc123", "login bob password hunter2": nothing links label and value.

    Only letters mixed with digits count, and behind a Chinese label six digits too.
    """
    is_chinese = not match["password"].isascii()
    if len(value) < SHORTEST_UNLINKED or not (is_chinese or match["link"]):
        return False
    if not any(c.isdigit() for c in value) or _TECHNIQUE.match(value):
        return False
    return any(c.isalpha() for c in value) or (is_chinese and value.isdigit())


def _is_unlinked_code(match: re.Match[str], value: str) -> bool:
    """ "验证码837261": Chinese needs no word between a code and its name."""
    return (
        match["token"] in ("验证码", "授权码") and value.isdigit() and len(value) >= SHORTEST_TOKEN
    )


def _is_password(text: str, match: re.Match[str], value: str, end: int) -> bool:
    link = match["link"].strip()
    if value in _STATES or value.endswith(_STATE_ENDINGS):
        return False
    # A hyphen or apostrophe alone ("user-friendly", "it's") does not make a password of a word.
    if _is_mixed(value.replace("-", "").replace("'", "")):
        return len(value) >= 3
    if link == "=" or (link and not link.isascii()):
        return len(value) >= 3
    return link != "to" and len(value) >= 4 and _ends_its_clause(text, end)


def _is_token(value: str) -> bool:
    """Counts ("token: 4096") and words stay; a code of six digits or more does not."""
    if len(value) < SHORTEST_TOKEN:
        return False
    if any(c.isdigit() for c in value):
        return True
    return len(value) >= SHORTEST_TOKEN_WITHOUT_DIGIT and "." not in value


def _is_machine_made(value: str) -> bool:
    """Upper case, lower case and digits in one long run: no word, hash, UUID or number."""
    return (
        _MADE_BY_A_MACHINE.fullmatch(value) is not None
        and any(c.isupper() for c in value)
        and any(c.islower() for c in value)
        and any(c.isdigit() for c in value)
    )


def _bare_value(match: re.Match[str]) -> tuple[str, int, int]:
    start = match.start("bare")
    value = match["bare"]
    # In "a=1&token=x&b=2" and '"token":"x","b"' the value ends at the next delimiter.
    value = re.split(r"[&,;]\s*(?=[\w\"'-]+[=:\"'])", value, maxsplit=1)[0]
    value = value.rstrip(_TRAILING)
    return value, start, start + len(value)


def _value(match: re.Match[str]) -> tuple[str, int, int]:
    for group in ("quoted", "bracketed"):
        if match[group] is not None:
            return match[group], *match.span(group)
    return _bare_value(match)


def _is_secret(text: str, match: re.Match[str], value: str, span: tuple[int, int]) -> bool:
    """`text` in its own case; `match` and `value` are of the lower-cased copy."""
    end = span[1]
    if not value or _PLACEHOLDER.match(value):
        return False
    if match["pin"] is not None:
        return bool(match["link"].strip()) and _PIN_DIGITS.fullmatch(value) is not None
    if match["key"] is not None:
        return bool(match["link"].strip()) and _is_machine_made(text[slice(*span)])
    if match["token"] is not None:
        return _is_token(value) if match["link"].strip() else _is_unlinked_code(match, value)
    if not match["link"].strip():
        return match["bare"] is not None and _is_unlinked_password(match, value)
    # Whoever quotes a value after "password is" gives the password, in whatever script.
    if match["bare"] is None:
        return value not in _STATES
    return _is_password(text, match, value, end)


def _kind(match: re.Match[str]) -> str:
    return "password" if match["password"] is not None else "secret"


def find_by_label(text: str) -> Iterator[Finding]:
    """Values that follow a label, in order."""
    lowered = text.translate(_LOWER_ASCII)
    position = 0
    while match := _NAMED.search(lowered, position):
        value, start, end = _value(match)
        position = match.end("link")
        if _is_secret(text, match, value, (start, end)):
            yield Finding(start, end, _kind(match))
            position = max(end, position)


def names_secret(key: str) -> bool:
    """Whether a key of a JSON object ("db_password", "apiKey", "密码") names a secret."""
    return _LABEL_ALONE.fullmatch(key.strip().lower().replace("-", "_")) is not None

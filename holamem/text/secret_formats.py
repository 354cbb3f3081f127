"""Secrets that show themselves by their format: keys with a prefix, tokens, key blocks, cards.

Every pattern is linear: quantifiers over the same characters are never nested, look-ahead is
bounded, and a look-behind stops a run of key characters from being tried at each of its places.
Boundaries are ASCII, because Chinese characters count as word characters for ``\\b``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from holamem.text.secret_providers import PROVIDER_FORMATS

# A key has digits; names such as "sk-learn-compatible-estimators" have none.
_WITH_DIGIT = r"(?=[A-Za-z0-9_-]{0,64}\d)"
_START = r"(?<![A-Za-z0-9_-])"
_PEM_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret at ``start`` to ``end`` of the folded text."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Format:
    """``hint`` is a literal that every match contains: most texts skip the pattern by it."""

    kind: str
    hint: str
    pattern: re.Pattern[str]


def _key(kind: str, hint: str, pattern: str) -> _Format:
    return _Format(kind, hint, re.compile(_START + pattern))


# In order: an earlier format wins where two overlap. Named group "secret" narrows the mask.
_FORMATS = (
    _Format(
        "private_key",
        "-----BEGIN ",
        re.compile(
            rf"-----BEGIN {_PEM_NAME}"
            # To the end marker, or over the base64 lines of a block that was cut off.
            rf"(?:(?:(?!-----)[\s\S]){{0,20000}}-----END {_PEM_NAME}"
            r"|(?:(?:\\n|\\r|\s)*[A-Za-z0-9+/=]{20,})*)"
        ),
    ),
    _key("holamem_key", "hm_", r"hm_[A-Za-z0-9]{4,40}_[A-Za-z0-9_-]{16,}"),
    _key("aws_key", "A", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _key("github_token", "gh", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _key("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _key("gitlab_token", "gl", r"gl(?:pat|dt|rt|ptt|soat)-[A-Za-z0-9_-]{20,}"),
    _key("slack_token", "xox", r"xox[abceoprs]-[A-Za-z0-9-]{10,}"),
    _key("slack_token", "xapp-", r"xapp-[A-Za-z0-9-]{20,}"),
    _key(
        "slack_webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/]{20,})",
    ),
    _key("anthropic_key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _key("openai_key", "sk-", rf"sk-{_WITH_DIGIT}[A-Za-z0-9_-]{{16,}}"),
    _key("google_key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _key("google_token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    _key("google_secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    _key("stripe_key", "k_", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}"),
    _key("stripe_secret", "whsec_", r"whsec_[A-Za-z0-9]{16,}"),
    _key("npm_token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _key("pypi_token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
    _key("huggingface_token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _key("sendgrid_key", "SG.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _key("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,}"),
    *(_key(*row) for row in PROVIDER_FORMATS),
    _Format(
        "private_key",
        "Private-Lines:",
        re.compile(r"Private-Lines: \d{1,3}\s{1,2}(?P<secret>(?:[A-Za-z0-9+/=]{16,}\s{1,2})+)"),
    ),
    _Format(
        "recovery_phrase",
        " ",
        re.compile(
            r"(?:(?:[Ss]eed|[Rr]ecovery|[Mm]nemonic)[ -]{1,2}(?:phrase|words)|[Mm]nemonic|助记词)"
            r"[ \t]{0,3}(?:is|are|是|为)?[ \t:=\"']{0,4}"
            r"(?P<secret>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"
        ),
    ),
    _Format(
        "bearer_token",
        "earer",
        re.compile(
            r"[Bb]earer[ \t]{1,4}(?=[A-Za-z0-9._~+/-]{0,64}\d)(?P<secret>[A-Za-z0-9._~+/-]{12,}=*)"
        ),
    ),
    _Format(
        "basic_credentials",
        "uthorization",
        re.compile(
            r"[Aa]uthorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?[Bb]asic[ \t]{1,4}"
            r"(?P<secret>[A-Za-z0-9+/]{8,}={0,2})"
        ),
    ),
    _Format(
        "cookie",
        "ookie",
        re.compile(
            r"[Cc]ookie[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
            r"(?P<secret>[\w.-]{1,60}=[^\s;,\"']{12,}(?:; ?[\w.-]{1,60}=[^\s;,\"']{0,400}){0,40})"
        ),
    ),
    _Format(
        "url_credentials",
        "://",
        # A password may hold an "@" itself; a comma or a Chinese character ends the address.
        re.compile(
            r"://[^\s/:@?#]{0,100}:"
            r"(?P<secret>(?!\[masked:)[^\s/@]{1,200}(?:@[!-+.0-:<-?A-~-]{1,100}(?=@))*)@"
        ),
    ),
    _Format(
        "command_password",
        "curl",
        re.compile(
            r"curl\b[^\n]{0,200}?[ \t](?:-u|--user)[ =]{0,2}[\"']?[^\s:\"']{1,100}:"
            r"(?P<secret>(?!\[masked:)[^\s\"'$]{3,200})"
        ),
    ),
    _Format(
        "command_password",
        "mysql",
        re.compile(r"mysql\w{0,10}\b[^\n|;]{0,200}?[ \t]-p(?P<secret>(?!ort\b)[^\s\"'$\[]{3,200})"),
    ),
    _Format(
        "command_password",
        "sshpass",
        re.compile(r"sshpass[ \t]{1,3}-p[ \t]{0,3}[\"']?(?P<secret>(?!\[masked:)[^\s\"'$]{3,200})"),
    ),
)

# Issuer ranges with the lengths they use: a checksum alone passes one number in ten.
_CARD = re.compile(
    r"(?:4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[0689]\d{12}|35\d{14}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17})"
)
_DIGIT_GROUPS = re.compile(r"(?<![\dA-Za-z.])\d(?:[ -]?\d){12,18}(?![\dA-Za-z]|[.]\d)")


def _passes_luhn(digits: str) -> bool:
    total = sum(int(d) for d in digits[::-2])
    return (total + sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])) % 10 == 0


def _card_numbers(text: str) -> Iterator[Finding]:
    for match in _DIGIT_GROUPS.finditer(text):
        digits = match[0].replace(" ", "").replace("-", "")
        if _CARD.fullmatch(digits) and _passes_luhn(digits):
            yield Finding(*match.span(), "card_number")


def find_by_format(text: str) -> Iterator[Finding]:
    """Findings by priority; they may overlap."""
    for form in _FORMATS:
        if form.hint not in text:
            continue
        group = "secret" if "secret" in form.pattern.groupindex else 0
        for match in form.pattern.finditer(text):
            yield Finding(*match.span(group), form.kind)
    yield from _card_numbers(text)

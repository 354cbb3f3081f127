"""Whether a tool's words, which come without a flag, tell of a success.

The OpenAI message shape has no field for it, and a call that failed must never become memory, so
what the tool itself says decides: a field of its JSON, an exit code, or an error in its opening.
"""

import json
import re
from collections.abc import Mapping

OPENING_CHARACTERS = 2_000

_ERROR_OPENING = re.compile(
    r"\s*(?:[\w.-]{0,60}(?:error|exception)\b(?! (?:rate|budget|code|log|handling|page|count)s?\b)"
    r"|traceback \(most recent call last\)|fatal:|panic:|segmentation fault|access denied"
    r"|permission denied|command not found|no such file|timed out\b|timeout\b(?! (?:is|of|was|set)\b)"
    r"|failed\b|failure\b|aborted\b|cancell?ed\b|denied\b|rejected\b|unauthori[sz]ed\b|forbidden\b"
    r"|(?:could not|cannot|can't|unable to|failed to|did not succeed)\b"
    r"|错误(?!率|码|处理|日志|预算)|出错|报错|失败(?!率|数|重试)|异常(?!率|处理|检测)|拒绝|超时(?!时间|设置|是|为)|已取消|无法|没有权限|权限不足|找不到)",
    re.IGNORECASE,
)
_SAID_LATER = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: code| status)?|return code|status code)[ :=]{1,3}(?P<code>\d{1,3})\b"
    r"|^traceback \(most recent call last\)|^(?:\w+\.)*\w*(?:Error|Exception): "
    r"|(?:执行|运行|部署|操作|请求|调用|任务|构建|测试|安装|备份|重启)(?:已经?)?(?:失败|出错|超时(?!时间|设置|是|为)|被拒绝)",
    re.IGNORECASE | re.MULTILINE,
)
_FAILED_WORDS = frozenset(
    ["error", "failed", "failure", "fail", "denied", "cancelled", "canceled", "timeout", "aborted"]
)
_SUCCESS_FIELDS = ("success", "succeeded", "ok")
_CODE_FIELDS = ("exit_code", "exitcode", "returncode", "return_code")


def tells_success(text: str) -> bool:
    """True unless the words or the JSON fields of a tool's result say that the call failed."""
    document = _document(text)
    if document is not None:
        return not _says_failed(document)
    opening = text[:OPENING_CHARACTERS]
    if _ERROR_OPENING.match(opening):
        return False
    return not any(_is_failure(match) for match in _SAID_LATER.finditer(opening))


def _document(text: str) -> Mapping[str, object] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _says_failed(document: Mapping[str, object]) -> bool:
    fields = {name.lower(): value for name, value in document.items()}
    if any(fields.get(name) is False for name in _SUCCESS_FIELDS):
        return True
    if any(fields.get(name) not in (None, 0, "0") for name in _CODE_FIELDS):
        return True
    if fields.get("is_error") is True or fields.get("error") not in (None, False, "", [], {}):
        return True
    return str(fields.get("status", "")).lower() in _FAILED_WORDS


def _is_failure(match: re.Match[str]) -> bool:
    """An exit code of zero and an HTTP status under 400 are successes."""
    if match["code"] is None:
        return True
    code = int(match["code"])
    return code >= 400 if "status code" in match.group().lower() else code != 0

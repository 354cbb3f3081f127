"""Names that call somebody ("Thanks, Mel!", 李明，你看) and so say nothing of what a text is about."""

import re

from workspaces.judging.cues_en import ENGLISH
from workspaces.judging.cues_zh import CHINESE

# "Priya, our lead, said", "Priya, Tom and Ana joined": the comma does not follow a call.
_GOES_ON = re.compile(
    r"\s*[,–—-]\s*(?:(?:our|my|the|an?|his|her|their|who|whose|which|and|or)\b|[A-Z][\w'-]*(?:,| and| or))"
)
# "My sister, Anna", "with Ana, Tom, Mel": the name says who is meant, or goes on with a list.
_DESCRIBED = re.compile(
    r"(?:\b(?:our|my|his|her|their) (?:[\w-]+ ){0,3}[\w-]+|(?<=[\w,] )[A-Z][\w'-]*), $"
)
_DEFINED = re.compile(r"\b(?:the|an?) (?:[\w-]+ ){0,3}[\w-]+, $")
# "And Priya, our lead, said": these words open a turn and greet nobody.
_LINKED = re.compile(r"\b(?:and|but|so|also|actually|anyway|sure|right|no)\W*$", re.IGNORECASE)
_CALL_ENDS = re.compile(r"\s*(?:[,!?.…~]|[-–—]|$)")
_BARE_CALL_ENDS = re.compile(r"[,!?]")
_SENTENCE_ENDS = re.compile(r"\s*(?:[!?.…~]+|$)")
_FEW_WORDS = re.compile(r"(?:[\w'’-]+[,!.]* ){0,3}")
_CALL_ENDS_ZH = re.compile(r"\s*[，,！!～~。]")
_ENGLISH_NAME = re.compile(r"\b[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)?\b")
_LOOSE_COMMA = re.compile(r",\s*(?=[,!?.]|$)")
_TO_SOMEBODY_ZH = re.compile(r"[，,！!～~。]\s*(?:我(?!们?的)|咱|谢|抱歉|对不起)|你|您")


def is_address(line: str, *, start: int, end: int, chinese: bool) -> bool:
    """Whether the name at `start` to `end` of a cleaned sentence is a call."""
    before, after = line[:start], line[end:]
    return _chinese_call(before, after) if chinese else _english_call(before, after)


def without_calls(line: str) -> str:
    """An English sentence less the names that it calls; of Chinese, where names have no form, all."""
    kept, position = [], 0
    for match in _ENGLISH_NAME.finditer(line):
        if _english_call(line[: match.start()], line[match.end() :]):
            kept.append(line[position : match.start()])
            position = match.end()
    if not position:
        return line
    rest = _LOOSE_COMMA.sub("", "".join([*kept, line[position:]]))
    return " ".join(rest.split()).lstrip(" ,!.")


def _english_call(before: str, after: str) -> bool:
    opens = not before or bool(ENGLISH.opening.fullmatch(before))
    if opens:
        ends = _CALL_ENDS if before else _BARE_CALL_ENDS
        is_greeted = before and not _LINKED.search(before)
        return bool(ends.match(after)) and bool(is_greeted or not _GOES_ON.match(after))
    if not before.endswith(", ") or _DESCRIBED.search(before):
        return False
    if _SENTENCE_ENDS.fullmatch(after) or re.match(r"[!?]", after):
        return True
    return (
        bool(_FEW_WORDS.fullmatch(before)) and after.startswith(",") and not _GOES_ON.match(after)
    )


def _chinese_call(before: str, after: str) -> bool:
    opens = not before or bool(CHINESE.opening.fullmatch(before))
    return opens and bool(_CALL_ENDS_ZH.match(after)) and bool(_TO_SOMEBODY_ZH.search(after))

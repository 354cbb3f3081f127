"""Names in English sentences."""

import re

from workspaces.judging.mentions import HEAD_TYPES, Mention, Role
from workspaces.judging.placeholders import COMMON_ACRONYMS, is_placeholder

_CAP = r"[A-ZÀ-ÖØ-Þ][^\W_]*(?:[.&'’-][^\W_]+)*"
_HEADS = "|".join(sorted(HEAD_TYPES, key=len, reverse=True))
_NAME = re.compile(
    rf"(?<![\w./@-])(?P<core>{_CAP}(?: {_CAP})*)(?: (?P<head>{_HEADS})(?=[\s.,;:'’!]|$))?"
    r"|(?<![\w./@:-])(?P<identifier>[a-z]+(?:-[a-z\d]+)+)(?![\w-]*[./@:]\w)"
    rf"|[\"“](?P<quoted>[^\"“”.!?]{{3,40}})[\"”]"
)
_IDENTIFIER = re.compile(
    r"[a-z]+(?:-[a-z\d]+)*-\d+|(?:svc|srv|db|api|app|web|prod|stg|k8s|vm|host|node|queue)(?:-[a-z\d]+)+|[a-z]+(?:-[a-z\d]+)*-(?:svc|api|db|prod|web|cli|lib|core|worker|service|server)"
)
_LEAD = re.compile(
    r"(?:(?:yesterday|today|now|currently|recently|also|and|but|so|again|remember|note|that|please|hi|hey|hello|fyi|just|ok|okay"
    r"|last (?:week|month|year|night|\w+day)|this (?:morning|week|month|year)|since then"
    r"|(?:on|in|at|after|before|since|during|for|as of|from|when|if|while|because|with) [^,]{1,60},"
    rf"|[Ff]or {_CAP}(?: {_CAP})*(?= the ))[\s,:]*)*(?:(?:the|our|my|this|a|new|customer|client|colleague|project|service|system)\s+)*",
    re.IGNORECASE,
)
_NOUN_LEAD = re.compile(r"(?:the|our|my) (?:[a-z]+ ){1,3}", re.IGNORECASE)
_POSSESSED = re.compile(r"\b(?:of|that|for)(?: the| our| my| all)?\s*$", re.IGNORECASE)
_POSSESSED_WORDS = 10
_HUMAN = re.compile(
    r"\s(?:(?:also|now|really|still|usually|mostly|just|currently|has|is|was) )*(?:likes|loves|prefers|hates|lives|works|joined|married|moved|studie[sd]|studied|graduated|teaches|speaks|leads|owns|manages"
    r"|maintains|reviews|said|told|asked|thinks|drives|plays|cooks|born|allergic|on (?:holiday|vacation|leave|call|parental)|helps|looks after|handed|took over|takes over|covers|reports to|quit|met|visited"
    r"|bought|adopted|turned|enjoys|retired|promoted|responsible|in charge|called|wrote|writes|coordinates|handles"
    r"|(?:the|our|my|an?) (?:(?!of |for |in )[\w-]+ ){0,4}(?:lead|engineer|developer|manager|designer|analyst|director|officer|contact|head|owner|doctor|teacher|nurse|sister|brother|mother|father|wife|husband|friend|colleague|boss|cousin|neighbou?r|administrator|architect|intern|tester|person|student|lawyer))\b"
)
# Abstract nouns do human things in sentences: "Painting helps me".
_NO_PERSON = re.compile(r"(?:ing|tion|ment|ness|ity|ship|ance|ence|ism|'s|ly|nds|nts)$")
_CUSTOMER = re.compile(r"\b(?:customer|client|signed|contract|subscribed|renewed)\b", re.IGNORECASE)
_DEFINED = re.compile(
    rf"\s(?:is|was|are) (?:our|the|an?|my) (?:(?!of |for |in |to )[\w-]+ ){{0,5}}?(?P<head>{_HEADS})\b"
)
_VERB = re.compile(r"\s(?:is|was|has|will|now|[a-z]+s|[a-z]+ed|takes|went|ran|runs)\b")
_ROLE_PREFIX = re.compile(r"\b(?P<type>project|customer|client|team)\s+$", re.IGNORECASE)


def find_names(sentence: str, *, index: int) -> list[Mention]:
    """Mentions that look like stable names, in order; placeholders and dates are left out."""
    found = (_mention(match, sentence, index) for match in _NAME.finditer(sentence))
    return [mention for mention in found if mention is not None]


def role_at(sentence: str, start: int) -> Role:
    """The role of what begins at `start`, from the words before it."""
    lead = sentence[:start]
    if _LEAD.fullmatch(lead):
        return "subject"
    if _POSSESSED.search(lead) and len(lead.split()) <= _POSSESSED_WORDS:
        return "possessor"
    return "object"


def _mention(match: re.Match[str], sentence: str, index: int) -> Mention | None:
    if match["identifier"]:
        return _identifier(match, sentence, index)
    if match["quoted"]:
        return _quoted(match, sentence, index)
    core, start = _without_opening_words(match["core"], match.start("core"))
    if not core or _is_bare_acronym(core):
        return None
    head = match["head"] or ""
    name = f"{core} {head}".strip()
    if is_placeholder(name):
        return None
    after = sentence[match.end() :]
    kind, confidence = _kind(name=core, head=head, sentence=sentence, start=start, after=after)
    return Mention(name, kind, role_at(sentence, start), index, start, confidence)


def _identifier(match: re.Match[str], sentence: str, index: int) -> Mention | None:
    name, start = match["identifier"], match.start("identifier")
    if not _IDENTIFIER.fullmatch(name):
        return None
    role = "subject" if _NOUN_LEAD.fullmatch(sentence[:start]) else role_at(sentence, start)
    return Mention(name, "system", role, index, start, 0.72)


def _quoted(match: re.Match[str], sentence: str, index: int) -> Mention | None:
    name, start = match["quoted"].strip(), match.start()
    if is_placeholder(name) or len(name.split()) > 4:
        return None
    return Mention(name, "topic", role_at(sentence, start), index, start, 0.7)


def _without_opening_words(core: str, start: int) -> tuple[str, int]:
    """Cut capitalised function words, days and months off the front of a run of capitals."""
    words = core.split(" ")
    while words and is_placeholder(words[0]):
        start += len(words[0]) + 1
        words.pop(0)
    while words and is_placeholder(words[-1]):
        words.pop()
    return " ".join(words), start


def _is_bare_acronym(core: str) -> bool:
    """All words are acronyms: "API", "CI", and "CI pipeline" is no more a name than they are."""
    return all(
        word.upper() in COMMON_ACRONYMS or (word.isupper() and len(word) <= 3)
        for word in core.split()
    )


def _kind(*, name: str, head: str, sentence: str, start: int, after: str) -> tuple[str, float]:
    if head:
        return HEAD_TYPES[head], 0.85
    before = _ROLE_PREFIX.search(sentence[:start])
    if before:
        word = before["type"].lower()
        return {"project": "project", "team": "topic"}.get(word, "customer"), 0.8
    is_bare = " " not in name and bool(_NO_PERSON.search(name))
    if (_HUMAN.match(after) and not is_bare) or re.match(
        r"['’]s (?:birthday|wife|husband|family|mother|father)", after
    ):
        return "person", 0.8 if " " in name else 0.72
    defined = _DEFINED.match(after)
    if defined:
        return HEAD_TYPES[defined["head"]], 0.8
    return _kind_of_unknown(name, sentence=sentence, start=start, after=after)


def _kind_of_unknown(name: str, *, sentence: str, start: int, after: str) -> tuple[str, float]:
    """One capitalised word that opens a sentence may be any word, so it creates nothing."""
    if _CUSTOMER.search(sentence) and " " in name:
        return "customer", 0.75
    if re.search(r"[a-z][A-Z]|\d", name):
        return "system", 0.72
    is_marked = " " in name or bool(re.search(r"[a-z] $", sentence[:start]))
    return "topic", 0.7 if is_marked and _VERB.match(after) else 0.5

"""Admission by rules: is there a sentence in the chunk that will still matter next month?

A chunk is as durable as its most durable sentence. A sentence is first read as an act
(question, plan, request, greeting …); only what is left is weighed as a statement.
"""

from workspaces.judging.addresses import without_calls
from workspaces.judging.base import Admission, ChunkContext
from workspaces.judging.cues import Cues
from workspaces.judging.cues_en import ENGLISH
from workspaces.judging.cues_zh import CHINESE
from workspaces.judging.reading import cleaned, content_terms, is_chinese, sentences

ACCEPTED_KINDS = frozenset({"accepted_preference", "accepted_identity"})
SOURCE_KINDS = frozenset({"integration_record", "document_revision", "sync_item"})
CLAIMING_KINDS = frozenset({"assistant_turn", "distilled_statement", "tool_result"})

BASE = 0.30
# An assistant speaks mostly of the general case, so its statements need more to go on.
ASSISTANT_DISCOUNT = 0.15
# Under three content terms a sentence cannot be understood without its neighbours.
MIN_TERMS = 3
# Share of an assistant's content terms that the user has already said in the session.
RESTATED_SHARE = 0.70
LOW = 0.10
VAGUE = 0.35


def admit(chunk: ChunkContext) -> Admission:
    """Judge one chunk; the reason of a rejection is that of its last meaningful sentence."""
    if chunk.kind in ACCEPTED_KINDS:
        return Admission(1.0, "accepted")
    if chunk.kind == "tool_result" and chunk.succeeded is False:
        return Admission(0.0, "failed_execution")
    if chunk.kind in SOURCE_KINDS:
        return _source_record(chunk.text)
    if chunk.kind in CLAIMING_KINDS and not _is_proved(chunk) and claims_execution(chunk):
        return Admission(LOW, "no_execution")
    if chunk.kind == "assistant_turn":
        return _assistant(chunk)
    return _best_sentence(chunk)


def cues_of(sentence: str) -> Cues:
    """The cue set for one sentence: Chinese as soon as it holds Chinese words."""
    return CHINESE if is_chinese(sentence) else ENGLISH


def _source_record(text: str) -> Admission:
    if content_terms(text):
        return Admission(0.9, "source_record")
    return Admission(LOW, "too_vague")


def _is_proved(chunk: ChunkContext) -> bool:
    return chunk.succeeded is True or chunk.has_execution_evidence


def claims_execution(chunk: ChunkContext) -> bool:
    """Whether the chunk says that something was or will be done, proved or not.

    A tool result always does. The actor's name changes nothing: an assistant may be called Ana.
    """
    if chunk.kind == "tool_result":
        return True
    return any(_claims(line) for line in _lines(chunk))


def _claims(sentence: str) -> bool:
    cues = cues_of(sentence)
    if cues.question.search(sentence) or cues.recalled.search(sentence):
        return False
    rest = cues.no_claim.sub(" ", sentence)
    return cues.execution.search(rest) is not None


def _assistant(chunk: ChunkContext) -> Admission:
    if any(cues_of(line).recalled.search(line) for line in _lines(chunk)):
        return Admission(LOW, "recalled")
    best = _best_sentence(chunk)
    if best.confidence >= 0.5 and not chunk.has_execution_evidence and _is_restated(chunk):
        return Admission(LOW, "restated")
    return best


def _is_restated(chunk: ChunkContext) -> bool:
    """Compares with all earlier words of the user, since a recap joins several statements."""
    terms = content_terms(chunk.text)
    earlier: frozenset[str] = frozenset().union(*map(content_terms, chunk.earlier_user_texts))
    return bool(terms) and len(terms & earlier) / len(terms) >= RESTATED_SHARE


def _lines(chunk: ChunkContext) -> list[str]:
    """Without the names that are called: a name alone makes no statement about somebody."""
    return [_uncalled(cleaned(sentence)) for sentence in sentences(chunk.text)]


def _uncalled(sentence: str) -> str:
    return sentence if is_chinese(sentence) else without_calls(sentence) or sentence


def _best_sentence(chunk: ChunkContext) -> Admission:
    judged = [
        judge_sentence(line, kind=chunk.kind, proved=_is_proved(chunk)) for line in _lines(chunk)
    ]
    if not judged:
        return Admission(0.0, "too_vague")
    best = max(judged, key=lambda verdict: verdict.confidence)
    if best.confidence >= 0.5:
        return best
    telling = [
        verdict for verdict in judged if verdict.reason not in ("acknowledgement", "small_talk")
    ]
    return telling[-1] if telling else best


def judge_sentence(sentence: str, *, kind: str = "user_message", proved: bool = False) -> Admission:
    """Judge a cleaned sentence alone."""
    cues = cues_of(sentence)
    rest = cues.opening.sub("", sentence)
    if cues.question.search(rest):
        return Admission(LOW, "question")
    if not content_terms(rest):
        return Admission(LOW, _courtesy(sentence, cues))
    if len(content_terms(rest)) < MIN_TERMS and cues.thanks.search(sentence):
        return Admission(LOW, "acknowledgement")
    told = cues.remember.sub("", rest)
    act = _act(told, cues, kind=kind)
    if act:
        return Admission(LOW, act)
    return _statement(told, cues, kind=kind, proved=proved, is_vouched=told != rest)


def _courtesy(sentence: str, cues: Cues) -> str:
    if cues.acknowledgement.search(sentence) or cues.thanks.search(sentence):
        return "acknowledgement"
    return "small_talk"


def _act(sentence: str, cues: Cues, *, kind: str) -> str | None:
    """Name the speech act of a sentence that states nothing lasting, else None."""
    if cues.undecided.search(sentence):
        return "plan"
    if kind == "tool_result":
        return None
    is_decided = cues.decided.search(sentence) is not None
    if cues.hypothetical.search(sentence) and not is_decided:
        return "hypothetical"
    if cues.plan.search(sentence) and not _is_arranged(sentence, cues):
        return "plan"
    has_detail = bool(cues.counted.search(sentence) or cues.standing.search(sentence))
    if cues.small_talk.search(sentence) and not has_detail and not cues.preference.search(sentence):
        return "small_talk"
    if cues.request.search(sentence) and not cues.standing.search(sentence):
        return "request"
    if cues.thanks.search(sentence) and not has_detail:
        return "acknowledgement"
    if cues.acknowledgement.search(sentence) and len(content_terms(sentence)) < MIN_TERMS:
        return "acknowledgement"
    return None


def _is_arranged(sentence: str, cues: Cues) -> bool:
    """A decision that is settled or a day that is set, not the wish for one."""
    is_settled = cues.decided.search(sentence) or cues.arranged.search(sentence)
    return is_settled is not None and not cues.hypothetical.search(sentence)


def _statement(
    sentence: str, cues: Cues, *, kind: str, proved: bool, is_vouched: bool
) -> Admission:
    if kind == "assistant_turn" and not proved and cues.advice.search(sentence):
        return Admission(LOW, "advice")
    if len(content_terms(sentence)) < MIN_TERMS and not _is_short_fact(sentence, cues):
        return Admission(VAGUE, "too_vague")
    score = BASE + _evidence_for(sentence, cues) - _evidence_against(sentence, cues)
    score += 0.25 if is_vouched else 0.0
    if kind in ("tool_result", "assistant_turn") and proved:
        score += 0.2
    elif kind == "assistant_turn":
        score -= ASSISTANT_DISCOUNT
    score = round(min(max(score, 0.0), 0.98), 2)
    return Admission(score, "durable_fact" if score >= 0.5 else "too_vague")


def _is_short_fact(sentence: str, cues: Cues) -> bool:
    """ "I'm vegan", "My cat is Minka": few words, and still complete."""
    return bool(
        cues.preference.search(sentence)
        or cues.decided.search(sentence)
        or (
            cues.first_person.search(sentence)
            and not cues.feeling.search(sentence)
            and cues.attribute.search(sentence)
        )
        or (
            cues.counted.search(sentence)
            and (cues.named_subject.search(sentence) or cues.kin.search(sentence))
        )
    )


def _evidence_for(sentence: str, cues: Cues) -> float:
    has_subject = cues.named_subject.search(sentence) or cues.first_person.search(sentence)
    score = 0.2 if has_subject else 0.0
    score += 0.1 if cues.definite_subject.search(sentence) else 0.0
    score += 0.1 if cues.attribute.search(sentence) else 0.0
    score += 0.2 if cues.counted.search(sentence) or cues.dated.search(sentence) else 0.0
    score += 0.2 if cues.decided.search(sentence) or cues.standing.search(sentence) else 0.0
    score += 0.2 if cues.preference.search(sentence) or cues.kin.search(sentence) else 0.0
    return score


def _evidence_against(sentence: str, cues: Cues) -> float:
    score = 0.2 if cues.pointing_subject.search(sentence) else 0.0
    if cues.feeling.search(sentence):
        is_told = any(cue.search(sentence) for cue in (cues.counted, cues.dated, cues.preference))
        score += 0.1 if is_told else 0.25
    score += 0.2 if cues.laughter.search(sentence) else 0.0
    score += 0.15 if cues.passing.search(sentence) else 0.0
    return score

"""What a person decided on the calls of one approval: checked, compared, put into words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agents.models.runs import Approval
from holamem.errors import InvalidInput
from holamem.text.normalise import find_forbidden
from holamem.text.secrets import mask_secrets

APPROVED, DENIED = Approval.Status.APPROVED, Approval.Status.DENIED
REASON_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Decision:
    tool_call_id: str
    status: str
    reason: str = ""


def checked_decisions(approval: Approval, given: Sequence[Mapping[str, Any]]) -> list[Decision]:
    """One for each call of the approval, in its order. Raises InvalidInput that names the fault."""
    found: dict[str, Decision] = {}
    for number, item in enumerate(given):
        decision = _checked(item, place=f"decisions[{number}]")
        if decision.tool_call_id in found:
            raise _refused("The same call is decided twice.", code="doubled", number=number)
        if decision.tool_call_id not in approval.tool_call_ids:
            raise _refused("The approval has no such call.", code="unknown_call", number=number)
        found[decision.tool_call_id] = decision
    if len(found) != len(approval.tool_call_ids):
        raise InvalidInput(
            "Each call of the approval needs its decision, all at once.",
            field="decisions",
            detail={"code": "incomplete"},
        )
    return [found[call_id] for call_id in approval.tool_call_ids]


def _refused(message: str, *, code: str, number: int) -> InvalidInput:
    return InvalidInput(message, field=f"decisions[{number}].tool_call_id", detail={"code": code})


def _checked(item: Mapping[str, Any], *, place: str) -> Decision:
    status, reason = item.get("status"), item.get("reason") or ""
    if status not in (APPROVED, DENIED):
        raise InvalidInput("This is approved or denied.", field=f"{place}.status")
    if not isinstance(reason, str) or len(reason) > REASON_CHARACTERS or find_forbidden(reason):
        raise InvalidInput(
            f"A reason is text of at most {REASON_CHARACTERS} characters.", field=f"{place}.reason"
        )
    call_id = str(item.get("tool_call_id", "")).lower()
    return Decision(call_id, str(status), mask_secrets(reason.strip()).text)


def checked_scope(scope: str) -> str:
    if scope not in Approval.Scope.values:
        raise InvalidInput("This is once, run or session.", field="scope")
    return str(scope)


def stored(decisions: Sequence[Decision]) -> list[dict[str, str]]:
    return [asdict(decision) for decision in decisions]


def status_of(decisions: Sequence[Decision]) -> str:
    """Approved when any call of it is; denied when none."""
    return APPROVED if any(item.status == APPROVED for item in decisions) else DENIED


def denial_words(reason: str) -> str:
    """What the model reads in place of a result; the reason is a person's words."""
    return f"A person denied this call: {reason}" if reason else "A person denied this call."

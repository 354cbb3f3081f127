"""How what goes wrong ends a run: a machine word, and words for a person.

The words are ours or a typed error's, which never holds a key, a prompt or a service's own text.
"""

from dataclasses import dataclass

from agents.models.runs import Run
from holamem.errors import HolamemError, MalformedReply, ProviderError
from workspaces.services.circuits import CircuitOpen
from workspaces.services.quotas import QuotaReached

NO_MODEL = (
    "No chat model is configured. Set OPENAI_API_KEY and HOLAMEM_CHAT_MODEL (and OPENAI_BASE_URL"
    " for a server of your own), then restart."
)
WORKER_LOST = "The worker of this run stopped, and so did those that tried again."


@dataclass(frozen=True, slots=True)
class RunEnding:
    status: str
    stop_reason: str
    error: str = ""


def failed(stop_reason: str, error: str) -> RunEnding:
    return RunEnding(Run.Status.FAILED, stop_reason, error)


CANCELLED = RunEnding(Run.Status.CANCELLED, "cancelled")
INTERRUPTED = RunEnding(Run.Status.CANCELLED, "interrupted")
COMPLETED = RunEnding(Run.Status.COMPLETED, "completed")
LOST = failed("worker_lost", WORKER_LOST)
EMPTY = failed("empty_reply", "The model gave an empty answer, twice.")
REFUSED = failed("refused", "The model refused to answer.")
OUTPUT_LIMIT = RunEnding(Run.Status.COMPLETED, "output_limit")
CALLS_CUT = failed("output_limit", "The answer was cut at its limit in the middle of a tool call.")
TURN_LIMIT = failed("turn_limit", "The run took more turns than its budget of tool calls allows.")
COST_LIMIT = failed("cost_limit", "The run has reached the cost that its agent may have.")
TOOL_STOPPED = failed("tool_failed", "A tool failed that the run cannot go on without.")
INTERNAL = failed("internal_error", "Something went wrong on our side. It is in the log.")


def ending_of(error: Exception) -> RunEnding:
    if isinstance(error, CircuitOpen):
        return failed("circuit_open", error.message)
    if isinstance(error, QuotaReached):
        return failed("quota_reached", error.message)
    if isinstance(error, MalformedReply):
        return failed("unusable_reply", error.message)
    if isinstance(error, ProviderError):
        return failed("provider_error", error.message)
    if isinstance(error, HolamemError):
        return failed(error.code[:40], error.message)
    return INTERNAL

"""Calls of the chat model for a workspace: limited, behind a circuit, and recorded."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from holamem.environment import get_environment
from holamem.errors import MalformedReply, ProviderError
from holamem.providers.attempts import RequestRefused
from holamem.providers.base import ChatModel, Reply, StructuredReply, Usage
from holamem.providers.registry import chat_model, chat_provider
from workspaces.judging.base import Judge
from workspaces.judging.model import ModelJudge
from workspaces.judging.offline import OfflineJudge
from workspaces.models.tenancy import Workspace
from workspaces.models.usage import ModelCall
from workspaces.services.circuits import LONGEST_CALL_SECONDS, check_circuit
from workspaces.services.quotas import require_tokens
from workspaces.services.usage import CallMade, record_model_call

NO_USAGE = Usage(0, 0, estimated=True)
Outcome = ModelCall.Outcome


@dataclass(slots=True)
class OpenCall:
    """What the caller tells of its call as it learns it; all of it may stay as it is.

    `outcome` is set where no error says it, as for a stream that was closed on purpose.
    """

    usage: Usage = NO_USAGE
    outcome: str = ""


@contextmanager
def model_call(
    workspace: Workspace,
    *,
    purpose: str,
    scope_id: UUID,
    model: str,
    run_id: UUID | None = None,
    session_id: UUID | None = None,
    seconds: float = LONGEST_CALL_SECONDS,
) -> Iterator[OpenCall]:
    """Around one call of the chat model of at most `seconds`, outside of any transaction.

    Raises CircuitOpen or QuotaReached before anything is called. What the call raises decides
    its outcome: ProviderError is the service's failure, except that an unusable answer and a
    refused request show that it answers; any other error means that the call was given up.
    """
    require_tokens(workspace)
    provider = chat_provider()
    probe = check_circuit(workspace, provider=provider, seconds=seconds)
    call, started, error = OpenCall(), time.monotonic(), None
    try:
        yield call
    except BaseException as raised:
        error = raised
        raise
    finally:
        made = CallMade(
            purpose=purpose,
            provider=provider,
            model=model,
            usage=_usage(call, error),
            scope_id=scope_id,
            outcome=call.outcome or _outcome(error),
            error=_word(error),
            duration_ms=round((time.monotonic() - started) * 1000),
            run_id=run_id,
            session_id=session_id,
            probe=probe,
        )
        record_model_call(workspace, call=made)


def _outcome(error: BaseException | None) -> str:
    if error is None:
        return Outcome.SUCCEEDED
    if isinstance(error, MalformedReply | RequestRefused):
        return Outcome.UNUSABLE
    return Outcome.FAILED if isinstance(error, ProviderError) else Outcome.CANCELLED


def _word(error: BaseException | None) -> str:
    if error is None:
        return ""
    kind = error.detail.get("kind") if isinstance(error, ProviderError) else None
    status = error.detail.get("status") if isinstance(error, ProviderError) else None
    return " ".join(str(word) for word in (kind or type(error).__name__, status) if word)


def _usage(call: OpenCall, error: BaseException | None) -> Usage:
    """An answer of no use has its counts in the error."""
    told = error.detail if isinstance(error, MalformedReply) else {}
    if call.usage is NO_USAGE and "input_tokens" in told:
        return Usage(told["input_tokens"], told["output_tokens"], told["estimated"])
    return call.usage


@dataclass(frozen=True, slots=True)
class MeteredChat:
    """The chat model as this workspace may use it, for memory of one scope."""

    workspace: Workspace
    scope_id: UUID
    chat: ChatModel

    @property
    def model_name(self) -> str:
        return self.chat.model_name

    def complete_structured(
        self,
        *,
        system: str,
        user: str,
        schema: type[Reply],
        purpose: str,
        deadline_seconds: float = 60,
    ) -> StructuredReply[Reply]:
        """As the model does. Raises CircuitOpen and QuotaReached besides."""
        with model_call(
            self.workspace,
            purpose=purpose,
            scope_id=self.scope_id,
            model=self.model_name,
            seconds=min(deadline_seconds, get_environment().chat_deadline_seconds),
        ) as call:
            reply = self.chat.complete_structured(
                system=system,
                user=user,
                schema=schema,
                purpose=purpose,
                deadline_seconds=deadline_seconds,
            )
            call.usage = reply.usage
        return reply


def chat_model_of(workspace: Workspace, *, scope_id: UUID) -> ChatModel | None:
    """None when no chat model is configured."""
    chat = chat_model()
    return None if chat is None else MeteredChat(workspace, scope_id, chat)


def judge_of(workspace: Workspace, *, scope_id: UUID) -> Judge:
    """The model's judgement where a chat model is configured, the offline rules otherwise."""
    chat = chat_model_of(workspace, scope_id=scope_id)
    return OfflineJudge() if chat is None else ModelJudge(chat)

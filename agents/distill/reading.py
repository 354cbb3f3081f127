"""Passes as people see them: what each made of which session, and what it dropped."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from agents.distill.passes import Cause, Proposal, propose
from agents.distill.schedule import request_distillation
from agents.models.conversations import Session
from agents.models.distillation import Distillation
from holamem.database.scope import workspace_scope
from workspaces.models.tenancy import Workspace
from workspaces.services.listing import Listed, Slice, read_slice

Scopes = Sequence[UUID] | str | None


def page_of_distillations(
    workspace: Workspace, *, scopes: Scopes, wanted: Slice
) -> Listed[Distillation]:
    """Newest first."""
    with workspace_scope(workspace, scopes):
        return read_slice(workspace.distillations.all(), wanted=wanted, newest_first=True)


def distill_by_hand(workspace: Workspace, *, session: Session) -> None:
    """Soon, by a worker."""
    with workspace_scope(workspace, [session.scope_id]):
        request_distillation(
            workspace,
            session_id=session.id,
            scope_id=session.scope_id,
            cause=Cause(Distillation.Trigger.MANUAL),
        )


def dry_run(workspace: Workspace, *, session: Session) -> dict[str, Any]:
    """What a pass would write now; asks the model, and writes nothing but its usage.

    Raises ProviderError and QuotaReached.
    """
    found = propose(workspace, session_id=session.id, scope_id=session.scope_id)
    return _nothing() if found is None else _shown(found)


def _nothing() -> dict[str, Any]:
    return {"messages": 0, "results": 0, "statements": [], "dropped": [], "summaries": {}}


def _shown(found: Proposal) -> dict[str, Any]:
    return {
        "messages": len(found.material.messages),
        "results": len(found.material.evidence),
        "statements": [
            {
                "text": one.text,
                "topic": one.topic,
                "message_ids": [str(item.message_id) for item in one.evidence],
            }
            for one in found.judged.statements
        ],
        "dropped": [{"text": one.text, "reason": one.reason} for one in found.judged.dropped],
        "summaries": dict(found.judged.summaries),
    }

"""What a run brought becomes events of the workspace: what the person said, what tools found.

Memory's own words are left out: what was recalled is known already. So are the model's own, where
a tool repeats what it was given: a plan must not come in as a finding. A key that may not write
memory cannot do so by what it says to an agent. Each message has one name, so
that it is an event once, however often this runs; the sweep finds runs that a crash left behind.
"""

import logging
from collections.abc import Sequence
from uuid import UUID

from agents.models.conversations import Message
from agents.models.runs import Run, ToolCall
from agents.services.echoes import without_echo
from agents.services.states import is_ended
from agents.tools.registry import all_tools
from agents.tools.starters import permissions_of
from holamem import faults
from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import HolamemError
from holamem.text.normalise import is_blank
from workspaces.models.log import Event
from workspaces.models.tenancy import ApiKey, Workspace
from workspaces.recall_mark import contains_recalled_text
from workspaces.services.intake import BATCH_EVENTS, EventDraft, receive_events
from workspaces.services.principals import Principal
from workspaces.services.tool_results import tells_success

logger = logging.getLogger(__name__)

SOURCE = "agents"
FED_AT_ONCE = 50


def feed_run(workspace: Workspace, *, run: Run) -> int:
    """Events handed on; 0 for a run that has not ended, was fed, or does not feed. In no step."""
    if not is_ended(run) or run.fed_at is not None:
        return 0
    drafts = _drafts(workspace, run=run) if run.config.get("feeds_memory") else []
    faults.point("run.before_feeding")
    try:
        for start in range(0, len(drafts), BATCH_EVENTS):
            batch = drafts[start : start + BATCH_EVENTS]
            receive_events(workspace, drafts=batch, principal=_principal(workspace, run=run))
    except HolamemError as error:
        # A workspace that takes no shared memory, a person who was erased: nothing will change it.
        logger.warning("run.not_fed", extra={"run": str(run.id), "code": error.code})
    faults.point("run.fed")
    with workspace_scope(workspace, _scopes(run)):
        workspace.runs.filter(id=run.id, fed_at=None).update(fed_at=now())
    return len(drafts)


def _scopes(run: Run) -> tuple[UUID, ...]:
    return tuple(sorted({run.workspace_id, run.scope_id}))


def _principal(workspace: Workspace, *, run: Run) -> Principal:
    """The system, for the memory of the session: whoever started the run may not write by himself."""
    return Principal(
        label=f"agent:{run.config['agent']}",
        tenant_id=workspace.tenant_id,
        workspace_id=workspace.id,
        end_user_id=None,
        end_user_ref=None,
        permissions=frozenset(),
        key_id=None,
        is_person=False,
    )


def _drafts(workspace: Workspace, *, run: Run) -> list[EventDraft]:
    """In the order of the conversation."""
    with workspace_scope(workspace, _scopes(run)):
        owner = None
        if run.scope_id != workspace.pk:
            user = workspace.end_users.filter(id=run.scope_id, erased_at=None).first()
            if user is None:
                return []
            owner = user.ref
        messages = list(
            workspace.messages.filter(run_id=run.id, deleted_at=None)
            .filter(role__in=[Message.Role.USER, Message.Role.TOOL])
            .order_by("event_seq", "id")
        )
        calls = list(workspace.tool_calls.filter(run=run, status=ToolCall.Status.SUCCEEDED))
    return [
        draft
        for message in messages
        if (draft := _draft(message, run=run, owner=owner, calls=calls)) is not None
    ]


def _draft(
    message: Message, *, run: Run, owner: str | None, calls: Sequence[ToolCall]
) -> EventDraft | None:
    if is_blank(message.content) or contains_recalled_text(message.content):
        return None
    is_user = message.role == Message.Role.USER
    if is_user and ApiKey.Permission.MEMORY_WRITE not in permissions_of(run):
        return None
    call = None if is_user else _evidence(message, calls=calls)
    if not is_user and call is None:
        return None
    text = message.content if call is None else without_echo(message.content, call.arguments)
    if is_blank(text):
        return None
    return EventDraft(
        kind=Event.Kind.USER_MESSAGE if is_user else Event.Kind.TOOL_RESULT,
        text=text,
        occurred_at=message.created_at,
        user_id=owner,
        actor="" if call is None else call.name,
        session=str(message.session_id),
        agent=str(run.config["agent"]),
        run=str(run.id),
        source=SOURCE,
        external_id=f"message:{message.id}",
        succeeded=None if call is None else True,
    )


def _evidence(message: Message, *, calls: Sequence[ToolCall]) -> ToolCall | None:
    """The call that succeeded with this very result, if its tool tells of the world.

    A tool may be reached, and answer that what it was asked to do has failed.
    """
    if not tells_success(message.content):
        return None
    for call in calls:
        if call.turn_id == message.turn_id and call.call_id == message.tool_call_id:
            tool = all_tools().get(call.name)
            is_evidence = tool is not None and tool.is_evidence and call.result == message.content
            return call if is_evidence else None
    return None

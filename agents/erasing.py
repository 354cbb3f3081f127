"""Traces of erased memory in conversations and in the hot layer.

Of an erased person everything goes: what was said, what tools were given and answered, summaries,
topics with their versions. Rows, their order and their states stay, and so does the history's
chain, whose entries keep the hash of what they said. Runs that are not over yet are cancelled
first, and the erasure waits for them.
"""

from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from agents.erasing_quotes import cover_quotes
from agents.models.conversations import Session
from agents.models.runs import ENDED_RUN
from agents.services.runs import cancel_run
from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, eraser_scope, workspace_scope
from holamem.errors import Conflict, ProviderError
from workspaces.models.tenancy import Workspace
from workspaces.services.erasure.cleaners import ErasedMemory, register_cleaner

# The reasons of a decision are a person's words; which call was approved stays. Raw SQL: the ORM
# cannot change one key of every element of an array.
_CLEAR_REASONS = """
UPDATE agents_approval SET decisions = (
  SELECT coalesce(jsonb_agg(item || '{"reason": ""}'), '[]') FROM jsonb_array_elements(decisions) AS item)
 WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s
   AND jsonb_path_exists(decisions, '$[*] ? (@.reason != "")')
"""

# What an event was about stays: states, the rows that it names, and which calls were approved. Raw
# SQL for the same reason.
_KEPT = ("message_id", "trigger_message_id", "tool_call_id", "approval_id", "status")
_CLEAR_EVENTS = f"""
UPDATE agents_runevent SET payload = '{{"erased": true}}' || jsonb_strip_nulls(jsonb_build_object(
  {", ".join(f"'{name}', payload -> '{name}'" for name in _KEPT)},
  'decisions', (SELECT jsonb_agg(item || '{{"reason": ""}}')
                  FROM jsonb_array_elements(payload -> 'decisions') AS item)))
 WHERE workspace_id = %(workspace)s AND scope_id = %(scope)s AND NOT payload ? 'erased'
"""  # noqa: S608 - names


def register() -> None:
    """Called once when the app is ready."""
    register_cleaner("conversations", in_job=clean, at_once=clean_at_once)


def clean_at_once(workspace: Workspace, memory: ErasedMemory) -> int:
    """What people read, in the step of the request: all of a person, or nothing yet of a leaf."""
    if not memory.is_whole_scope:
        return 0
    with eraser_scope():
        return _wipe(workspace, scope_id=memory.scope_id)


def clean(workspace: Workspace, memory: ErasedMemory) -> int:
    """Returns how many rows lost words. Raises ProviderError while a run is not over."""
    if not memory.is_whole_scope:
        return cover_quotes(workspace, memory=memory)
    left = _end_runs(workspace, scope_id=memory.scope_id)
    with workspace_scope(workspace, ALL_SCOPES), eraser_scope():
        count = _wipe(workspace, scope_id=memory.scope_id)
    if left:
        raise ProviderError("A run of the person has not ended yet.", retryable=True)
    return count


def _end_runs(workspace: Workspace, *, scope_id: UUID) -> bool:
    """Whether some are still in the hands of a worker, which will end them within seconds."""
    with workspace_scope(workspace, ALL_SCOPES):
        unfinished = workspace.runs.filter(scope_id=scope_id).exclude(status__in=ENDED_RUN)
        runs = list(unfinished.order_by("id"))
    for run in runs:
        try:
            cancel_run(workspace, run=run)
        except Conflict:  # it ended by itself
            continue
    with workspace_scope(workspace, ALL_SCOPES):
        return unfinished.all().exists()


def _wipe(workspace: Workspace, *, scope_id: UUID) -> int:
    """As the eraser; may run again, and finds what was written in between."""
    count = sum(
        _emptied(rows.filter(scope_id=scope_id), **empty) for rows, empty in _texts(workspace)
    )
    count += _deleted(workspace, scope_id=scope_id)
    with connection.cursor() as cursor:
        for statement in (_CLEAR_REASONS, _CLEAR_EVENTS):
            cursor.execute(statement, {"workspace": workspace.pk, "scope": scope_id})
            count += cursor.rowcount
    idle = workspace.sessions.filter(scope_id=scope_id, active_run_id=None)
    idle.filter(status=Session.Status.ACTIVE).update(
        status=Session.Status.ARCHIVED, archived_at=now()
    )
    return count


def _texts(workspace: Workspace) -> list[tuple[QuerySet[Any], dict[str, Any]]]:
    """Every column that may hold words of the person, and what it is without them."""
    return [
        (
            workspace.sessions.all(),
            {"title": "", "frozen_user_index": "", "frozen_workspace_index": ""},
        ),
        (workspace.messages.all(), {"content": "", "attachments": [], "tool_calls": []}),
        (workspace.runs.all(), {"error": "", "streamed_text": ""}),
        (workspace.tool_calls.all(), {"arguments": {}, "reason": "", "result": ""}),
        (workspace.compaction_checkpoints.all(), {"summary": ""}),
        (workspace.distillations.all(), {"statements": [], "dropped": [], "summaries": {}}),
        (workspace.history_entries.all(), {"payload": {}, "is_erased": True}),
    ]


def _emptied(rows: QuerySet[Any], **empty: Any) -> int:
    return int(rows.exclude(Q(**empty)).update(**empty))


def _deleted(workspace: Workspace, *, scope_id: UUID) -> int:
    """A topic's name is its writer's word too, so that nothing of it can stay."""
    kept = (
        workspace.message_entries,
        workspace.approval_grants,
        workspace.text_memories,
        workspace.text_memory_versions,
    )
    return sum(int(rows.filter(scope_id=scope_id).delete()[0]) for rows in kept)

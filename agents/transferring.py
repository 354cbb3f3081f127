"""What the agents keep of a workspace, for its archive."""

from collections.abc import Callable
from datetime import datetime

from django.db.models import Q

from agents.hot.history import START, entry_digest
from agents.models.conversations import (
    DEFAULT_AGENT,
    Agent,
    Message,
    MessageEntry,
    Session,
)
from agents.models.distillation import Distillation, DistillationNight
from agents.models.hot_memory import HistoryEntry, TextMemory, TextMemoryVersion
from agents.models.runs import (
    ENDED_RUN,
    Approval,
    ApprovalGrant,
    CompactionCheckpoint,
    Run,
    RunEvent,
    ToolCall,
)
from workspaces.models.tenancy import Workspace
from workspaces.services.transfer.tables import ExportTable, Row, register_tables


def register() -> None:
    """Called once when the app is ready."""
    register_tables(
        [
            ExportTable(Agent, replaced=Q(slug=DEFAULT_AGENT)),
            ExportTable(Session),
            ExportTable(Message),
            ExportTable(MessageEntry),
            ExportTable(
                Run, obstacle=_no_unfinished_run, as_it_was=frozenset({"config", "started_by"})
            ),
            ExportTable(ToolCall),
            ExportTable(Approval),
            ExportTable(ApprovalGrant),
            ExportTable(CompactionCheckpoint),
            ExportTable(RunEvent),
            ExportTable(TextMemory),
            ExportTable(TextMemoryVersion),
            ExportTable(DistillationNight),
            ExportTable(Distillation),
            ExportTable(
                HistoryEntry,
                changing=_chained_anew,
                order="position",
                as_it_was=frozenset({"payload"}),
            ),
        ]
    )


def _no_unfinished_run(workspace: Workspace) -> str:
    """A run belongs to the worker that has it; nobody may go on with it in two places."""
    unfinished = workspace.runs.exclude(status__in=ENDED_RUN).count()
    return f"{unfinished} runs have not ended." if unfinished else ""


def _chained_anew() -> Callable[[Row], Row]:
    """Each entry's hash names workspace and scope, so that the chain is made anew in their order.

    What is said in an entry, and its own hash, stay as they were.
    """
    previous = START

    def linked(row: Row) -> Row:
        nonlocal previous
        entry = HistoryEntry(
            workspace_id=row["workspace_id"],
            scope_id=row["scope_id"],
            position=row["position"],
            kind=row["kind"],
            created_at=datetime.fromisoformat(row["created_at"]),
            payload_sha256=row["payload_sha256"],
            prev_sha256=previous,
        )
        changed = {**row, "prev_sha256": previous, "sha256": entry_digest(entry)}
        previous = str(changed["sha256"])
        return changed

    return linked

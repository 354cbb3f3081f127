"""A person, or a program, says what memory lacked: the leaf that it becomes closes the gap."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict
from retrieval.gaps import close_answered, get_gap
from retrieval.models import Gap
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.principals import Principal

ANSWERS = "answers_gap"  # in an event's metadata: the gap that its first leaf closes
SOURCE = "dashboard"
Scopes = Sequence[UUID] | str | None


@dataclass(frozen=True, slots=True)
class Filling:
    """What became of a text so far. `leaf_id` is None until one says it, and for good when the
    text `is_done` without.
    """

    is_done: bool
    leaf_id: UUID | None


def fill_gap(
    workspace: Workspace, *, principal: Principal, scopes: Scopes, gap_id: UUID, text: str
) -> UUID:
    """The event that carries the text, for the memory that was asked. Raises NotFound, Conflict
    when the gap is closed, InvalidInput.
    """
    gap = get_gap(workspace, scopes=scopes, gap_id=gap_id)
    if gap.status != Gap.Status.OPEN:
        raise Conflict("This gap is closed already.", detail={"code": "gap_closed"})
    draft = EventDraft(
        kind=Event.Kind.USER_MESSAGE,
        text=text,
        user_id=owner_of(workspace, gap=gap),
        actor=principal.label,
        source=SOURCE,
        admission="accepted",
        metadata={ANSWERS: str(gap.id)},
    )
    return receive_events(workspace, drafts=[draft], principal=principal).event_ids[0]


def owner_of(workspace: Workspace, *, gap: Gap) -> str | None:
    """The end user whose memory was asked; None for the shared one."""
    with workspace_scope(workspace):
        owners = workspace.end_users.filter(id=gap.scope_id)
        return owners.values_list("ref", flat=True).first()


def filling_of(workspace: Workspace, *, scopes: Scopes, gap_id: UUID) -> Filling | None:
    """The newest text that was written for this gap; None without one."""
    with workspace_scope(workspace, scopes):
        named = workspace.events.filter(source=SOURCE, metadata__contains={ANSWERS: str(gap_id)})
        event = named.order_by("-id").values("id", "status").first()
        if event is None:
            return None
        chunks = workspace.chunks.filter(event=event["id"], leaf_id__isnull=False)
        leaf_id = chunks.order_by("position").values_list("leaf_id", flat=True).first()
    is_done = event["status"] in (Event.Status.PROCESSED, Event.Status.DEAD)
    return Filling(is_done, leaf_id)


def close_named(workspace: Workspace, *, node_id: UUID) -> None:
    """Close the gap that the event of a new leaf names; quiet where it names none.

    A leaf of the shared memory may answer anybody's gap, a private one only its own user's.
    """
    with workspace_scope(workspace, ALL_SCOPES):
        sources = workspace.leaf_sources.filter(leaf=node_id, is_creator=True)
        source = sources.values("scope_id", f"event__metadata__{ANSWERS}").first()
        gap_id = _uuid(source[f"event__metadata__{ANSWERS}"]) if source else None
        if source is None or gap_id is None:
            return
        gaps = workspace.gaps.filter(id=gap_id, status=Gap.Status.OPEN)
        gap_scope = gaps.values_list("scope_id", flat=True).first()
    if gap_scope is not None and source["scope_id"] in (workspace.pk, gap_scope):
        scopes = sorted({workspace.pk, gap_scope})
        close_answered(workspace, scopes=scopes, gap_id=gap_id, leaf_id=node_id)


def close_with(workspace: Workspace, *, scopes: Scopes, gap_id: UUID) -> bool:
    """Close the gap with the leaf that its text became, or that said it before; False without."""
    filling = filling_of(workspace, scopes=scopes, gap_id=gap_id)
    if filling is None or filling.leaf_id is None:
        return False
    return close_answered(workspace, scopes=scopes, gap_id=gap_id, leaf_id=filling.leaf_id)


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None

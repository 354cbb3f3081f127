"""Which entities a chunk may be about."""

from datetime import datetime

from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from workspaces.models.entities import Entity
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.services.shortlist import entity_shortlist


def know(workspace: Workspace, *names: str, is_system: bool = False) -> None:
    with workspace_scope(workspace):
        Entity.objects.create(
            workspace=workspace,
            scope_id=workspace.id,
            type="system",
            slug=f"e-{new_id().hex[-12:]}",
            name=names[0],
            normalised_name=names[0].casefold(),
            aliases=list(names[1:]),
            normalised_names=[name.casefold() for name in names],
            is_system=is_system,
        )


def shortlisted(workspace: Workspace, text: str, *, at: datetime | None = None) -> list[str]:
    event = Event(workspace=workspace, scope_id=workspace.id, received_at=at or now())
    candidates = entity_shortlist(workspace, event=event, text=text, vector=None)
    return [candidate.name for candidate in candidates]


def test_a_name_or_an_alias_in_the_text_brings_its_entity(workspace: Workspace) -> None:
    know(workspace, "Atlas gateway", "the edge")
    know(workspace, "Ledger")
    assert shortlisted(workspace, "Mara restarted THE EDGE.") == ["Atlas gateway"]
    assert shortlisted(workspace, "The Atlas gateway, again.") == ["Atlas gateway"]
    assert shortlisted(workspace, "Nobody knows.") == []


def test_a_name_late_in_a_full_chinese_chunk_is_found(workspace: Workspace) -> None:
    know(workspace, "龙腾网关")
    page = "，".join(
        "".join(chr(0x4E00 + (17 * n + k) % 3000) for k in range(18)) for n in range(60)
    )
    assert shortlisted(workspace, f"{page}，龙腾网关由陈霞负责。") == ["龙腾网关"]


def test_the_fallback_bucket_is_never_offered(workspace: Workspace) -> None:
    know(workspace, "Uncategorized", is_system=True)
    assert shortlisted(workspace, "This is uncategorized.") == []

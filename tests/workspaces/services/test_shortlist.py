"""Which entities a chunk may be about."""

from datetime import datetime

from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from holamem.text.normalise import normalise_name
from workspaces.models.entities import Entity
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.services.called import Said, called_in
from workspaces.services.shortlist import entity_shortlist


def know(workspace: Workspace, *names: str, kind: str = "system", is_system: bool = False) -> None:
    with workspace_scope(workspace):
        Entity.objects.create(
            workspace=workspace,
            scope_id=workspace.id,
            type=kind,
            slug=f"e-{new_id().hex[-12:]}",
            name=names[0],
            normalised_name=normalise_name(names[0]),
            aliases=list(names[1:]),
            normalised_names=[normalise_name(name) for name in names],
            is_system=is_system,
        )


def shortlisted(workspace: Workspace, text: str, *, at: datetime | None = None) -> list[str]:
    event = Event(workspace=workspace, scope_id=workspace.id, received_at=at or now())
    candidates = entity_shortlist(workspace, event=event, text=text, vector=None)
    return [candidate.name for candidate in candidates]


def called(workspace: Workspace, text: str, *, actor: str = "") -> list[str]:
    [found], _ = called_in(workspace, scope_id=workspace.id, said=[Said(text, actor)])
    return [candidate.name for candidate in found]


def test_whoever_reads_names_is_offered_all_that_a_text_may_call(workspace: Workspace) -> None:
    know(workspace, "Priya Nair", kind="person")
    know(workspace, "Dr. Okafor", kind="person")
    know(workspace, "张伟先生", kind="person")
    know(workspace, "Atlas gateway")
    know(workspace, "Atlas 数据库")
    know(workspace, "苹果iPhone13")
    know(workspace, "上海市浦东新区张江高科技园区管理委员会")
    assert called(workspace, "Then Priya called Okafor.") == ["Priya Nair", "Dr. Okafor"]
    assert called(workspace, "昨天张伟换了台iPhone13。") == ["张伟先生", "苹果iPhone13"]
    assert called(workspace, "Atlas is slow today.") == ["Atlas gateway", "Atlas 数据库"]
    assert called(workspace, "去上海市浦东新区张江高科技园区管理委员会盖章") == [
        "上海市浦东新区张江高科技园区管理委员会"
    ]
    assert called(workspace, "I moved to Oslo.", actor="Priya") == ["Priya Nair"]
    assert called(workspace, "今天没有人来。", actor="陈霞") == []


def test_a_whole_name_comes_before_what_is_only_called_so(workspace: Workspace) -> None:
    for number in range(30):
        know(workspace, f"Ivo Berg{number}", kind="person")
    know(workspace, "Falcon scheduler")
    found = called(workspace, "Ivo restarted the Falcon scheduler.")
    assert len(found) == 24
    assert found[0] == "Falcon scheduler"


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

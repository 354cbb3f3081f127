"""Which tree a memory gets: every row of the table, each side of each threshold, and every name."""

import pytest

from holamem.database.scope import workspace_scope
from tests.workspaces.services.test_placement import answer, new
from tests.workspaces.services.test_shortlist import know, shortlisted
from workspaces.judging.base import Assignment, EntityCandidate
from workspaces.models.tenancy import Workspace
from workspaces.services.placement import is_usable_name, place
from workspaces.services.shortlist import MAX_SHORTLIST
from workspaces.settings import WorkspaceSettings

ATLAS = EntityCandidate("a", "system", "Atlas", ("the edge",), "", 0.9)
张伟 = EntityCandidate("z", "person", "张伟", ("老张",), "", 0.9)
NAIR = EntityCandidate("n", "person", "Dr. Priya Nair", (), "", 0.9)


def decided(assignment: Assignment, *, text: str, actor: str = "") -> tuple[str, str | None]:
    """(decision, the entity's id or the new name)."""
    result = place(
        assignment,
        text=text,
        candidates=(ATLAS, 张伟, NAIR),
        settings=WorkspaceSettings(),
        actor=actor,
    )
    named = result.new_entity.name if result.new_entity else None
    return result.decision, result.entity_id or named


@pytest.mark.parametrize(
    ("match", "create", "expected"),
    [
        (0.60, 0.00, ("match_existing", "a")),
        (0.60, 1.00, ("match_existing", "a")),
        (0.59, 0.68, ("create_new", "Zephyr")),
        (0.59, 0.67, ("fallback", None)),
        (0.00, 0.68, ("create_new", "Zephyr")),
        (0.00, 0.00, ("fallback", None)),
        (1.00, 1.00, ("match_existing", "a")),
        (1.01, 0.67, ("fallback", None)),
        (0.59, 1.01, ("fallback", None)),
    ],
)
@pytest.mark.parametrize("action", ["match_existing", "create_new", "fallback"])
def test_the_confidences_decide_whatever_action_is_named(
    action: str, match: float, create: float, expected: tuple[str, str | None]
) -> None:
    judged = answer(
        action=action,
        entity_id="a",
        match_confidence=match,
        new_entity=new("Zephyr", evidence="Zephyr runs"),
        create_confidence=create,
    )
    assert decided(judged, text="Zephyr runs on four machines.") == expected


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("ATLAS", "a"),
        ("ａｔｌａｓ", "a"),
        (" The  Edge ", "a"),
        ("张伟", "z"),
        ("张伟先生", "z"),
        ("张 伟", "z"),
        ("老张", "z"),
        ("Priya Nair", "n"),
        ("Prof. Priya Nair", "n"),
        ("dr priya nair", "n"),
    ],
)
def test_a_known_name_is_a_match_in_any_case_width_and_title(name: str, known: str) -> None:
    judged = answer(new_entity=new(name, evidence="said"), create_confidence=0.9)
    assert decided(judged, text=f"{name} said so.") == ("match_existing", known)


@pytest.mark.parametrize("name", ["王老师", "王总"])
def test_a_surname_with_its_title_is_a_name_of_its_own(name: str) -> None:
    judged = answer(new_entity=new(name, type="person", evidence="负责"), create_confidence=0.9)
    assert decided(judged, text=f"{name}负责预算。") == ("create_new", name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The gateway listens on port 8443.", "Zephyr"),
        ("网关监听 8443 端口。", "张三丰"),
        ("支付网关监听 8443 端口。", "Payment gateway"),
    ],
)
def test_a_name_that_the_text_does_not_hold_makes_no_entity(text: str, name: str) -> None:
    judged = answer(new_entity=new(name, evidence="8443"), create_confidence=1.0)
    assert decided(judged, text=text) == ("fallback", None)


def test_who_speaks_may_be_the_new_entity() -> None:
    judged = answer(new_entity=new("Ana", type="person", evidence="I live"), create_confidence=0.9)
    assert decided(judged, text="I live in Porto.", actor="Ana") == ("create_new", "Ana")
    assert decided(judged, text="I live in Porto.", actor="Tom") == ("fallback", None)


GENERIC = """
user|the user|my user|User 1|USER|ｕｓｅｒ|"user"|user's|end user|users|customer|our customers|a client|the team|our team
this project|the new project|project team|our service|this system|AI assistant|the assistant|chatbot|me|someone|anybody
person|a person|unknown person|my boss|my manager|my wife|friend|the company|our process|user preference|identity|memory
conversation|speaker 1|entity name|new entity|placeholder|undefined|null|N/A|none|TBD|today|Monday|January|123|...|🙂|the
用户|该用户|这个用户|用户1|用户们|用 户|我们|我|大家|团队|我们的团队|这个团队|项目|我们的项目|该项目|某项目|新项目|服务|这个服务
系统|我们的系统|助手|AI助手|智能助手|机器人|某人|客户|我们的客户|某客户|公司|我们公司|这家公司|老板|我的上司|我的同事|朋友
东西|事情|话题|实体|名称|未知|其他|测试|今天|周一|一月|对话|消息|记忆|偏好|用户偏好|流程|工作流|管理员|开发团队|妈妈|我妈妈
"""
NAMES = """
Atlas|Atlas gateway|Priya Nair|Ana|May Chen|Project Falcon|Team Rocket|User Portal|Customer Insights Platform|C++|C#|web-01
svc-auth|GPT-4|Berlin|O'Brien|Ünal|Li|April Jones|支付网关|张伟|老王|王总|猎鹰项目|用户中心|用户增长平台|客服系统|上海办公室
"""


def listed(names: str) -> list[str]:
    return [name for line in names.strip().splitlines() for name in line.split("|")]


@pytest.mark.parametrize("name", listed(GENERIC))
def test_a_generic_name_is_refused(name: str) -> None:
    assert not is_usable_name(name)


@pytest.mark.parametrize("name", listed(NAMES))
def test_a_particular_name_is_usable(name: str) -> None:
    assert is_usable_name(name)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("atlas", "边缘网关"), "听说边缘网关昨晚重启了。"),
        (("支付网关",), "支付 网关昨晚重启了。"),
        (("atlas",), "ＡＴＬＡＳ restarted last night."),
        (("priya nair",), "Dr. Priya Nair leads it."),
        (("张伟",), "张伟先生负责预算。"),
    ],
)
def test_an_exact_name_or_alias_comes_before_two_dozen_others(
    workspace: Workspace, names: tuple[str, ...], text: str
) -> None:
    for number in range(MAX_SHORTLIST + 6):
        know(workspace, f"thing {number}")
    know(workspace, *names)
    found = shortlisted(workspace, f"{text} thing 1 thing 2")
    assert names[0] in found
    assert len(found) <= MAX_SHORTLIST


def test_the_shortlist_is_never_longer_than_two_dozen(workspace: Workspace) -> None:
    for number in range(40):
        know(workspace, f"thing{number}")
    found = shortlisted(workspace, " ".join(f"thing{number}" for number in range(40)))
    assert len(found) == MAX_SHORTLIST
    with workspace_scope(workspace):
        assert workspace.entities.count() == 40

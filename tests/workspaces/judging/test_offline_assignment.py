"""Assignment by rules: existing names, clear new names, people, and no junk."""

import pytest

from tests.workspaces.judging.contexts import candidate, chunk
from workspaces.judging.offline_assignment import assign


@pytest.mark.parametrize(
    ("text", "type", "name"),
    [
        ("The Falcon service listens on port 7000.", "system", "Falcon service"),
        ("Orion is our data pipeline.", "workflow", "Orion"),
        ("Marta Silva leads the design team.", "person", "Marta Silva"),
        ("Northwind Foods signed a contract for two years.", "customer", "Northwind Foods"),
        ("The project Lighthouse ends on 30 June.", "project", "Lighthouse"),
        ("db-orders-02 has 64 GB of memory.", "system", "db-orders-02"),
        ("PayFlow retries every call three times.", "system", "PayFlow"),
        ("库存系统每晚两点同步。", "system", "库存系统"),
        ("昨天推荐服务重启了三次。", "system", "推荐服务"),
        ("灯塔项目6月30日结束。", "project", "灯塔项目"),
        ("王建国负责库存系统的运维。", "person", "王建国"),
        ("李娜喜欢喝乌龙茶。", "person", "李娜"),
        ("张工负责机房的网络。", "person", "张工"),
        ("“晨星”平台下个月上线。", "system", "晨星"),
        ("GitLab 升级到了 17.2 版本。", "system", "GitLab"),
    ],
)
def test_a_clear_new_subject_is_created_with_its_evidence(text: str, type: str, name: str) -> None:
    assignment = assign(chunk(text), candidates=[])
    assert assignment.new_entity is not None
    assert (assignment.new_entity.type, assignment.new_entity.name) == (type, name)
    assert assignment.new_entity.evidence in text
    assert assignment.create_confidence >= 0.68


@pytest.mark.parametrize(
    "text",
    [
        "The service listens on port 7000.",
        "The project ends on 30 June.",
        "Deployments happen on Tuesday.",
        "Yesterday was a public holiday in Bavaria.",
        "The API returns JSON.",
        "On Monday the team meets at ten.",
        "Painting helps with stress.",
        "It was released in March.",
        "系统每晚两点同步。",
        "我们的项目6月30日结束。",
        "这个服务重启了三次。",
        "周五下午不发布。",
        "任务在晚上运行。",
        "高峰是在晚上八点。",
        "时间是下午三点。",
        "方案已经通过了评审。",
    ],
)
def test_a_generic_word_never_becomes_an_entity(text: str) -> None:
    assignment = assign(chunk(text), candidates=[])
    assert assignment.action == "fallback"
    assert assignment.new_entity is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The port of the Falcon service is 7001.", "Falcon service"),
        ("Falcon now runs on node-9.", "Falcon service"),
        ("We decided to move the Falcon service to Frankfurt.", "Falcon service"),
        ("Marta prefers mornings.", "Marta Silva"),
        ("库存系统的端口是 7001。", "库存系统"),
        ("我们决定把库存系统迁到杭州。", "库存系统"),
    ],
)
def test_a_named_candidate_is_matched(text: str, expected: str) -> None:
    known = [
        candidate("Falcon service"),
        candidate("Marta Silva", type="person"),
        candidate("库存系统"),
    ]
    assignment = assign(chunk(text), candidates=known)
    assert assignment.entity_id == f"id-{expected}"
    assert assignment.match_confidence >= 0.6


def test_an_alias_is_a_name() -> None:
    known = [candidate("Falcon service", aliases=("bird",))]
    assert assign(chunk("The bird is slow today."), candidates=known).entity_id is not None


def test_part_of_a_word_is_no_name() -> None:
    assert assign(chunk("Harbors are busy."), candidates=[candidate("Harbor")]).entity_id is None


def test_a_shared_first_name_matches_nobody() -> None:
    known = [candidate("Ana Costa", type="person"), candidate("Ana Lima", type="person")]
    assert assign(chunk("Ana likes tea."), candidates=known).entity_id is None


def test_a_new_subject_goes_before_a_known_object() -> None:
    known = [candidate("Falcon service")]
    assignment = assign(chunk("Marta Silva maintains the Falcon service."), candidates=known)
    assert assignment.new_entity is not None
    assert assignment.new_entity.name == "Marta Silva"
    assert "Falcon service" in assignment.secondary


def test_a_person_who_speaks_of_himself_is_the_subject() -> None:
    assignment = assign(chunk("I went hiking in the Alps last week.", actor="Ravi"), candidates=[])
    assert assignment.new_entity is not None
    assert (assignment.new_entity.type, assignment.new_entity.name) == ("person", "Ravi")
    again = assign(
        chunk("My dog is called Bruno.", actor="Ravi"),
        candidates=[candidate("Ravi", type="person")],
    )
    assert again.entity_id == "id-Ravi"


@pytest.mark.parametrize("actor", ["user", "assistant", "ops-bot", "u_42", "用户", ""])
def test_a_role_is_no_person(actor: str) -> None:
    assert assign(chunk("I went hiking last week.", actor=actor), candidates=[]).new_entity is None


def test_a_preference_of_a_person_is_one() -> None:
    assignment = assign(chunk("我习惯用深色主题。", actor="王建国"), candidates=[])
    assert assignment.new_entity is not None
    assert (assignment.new_entity.type, assignment.new_entity.name) == ("preference", "王建国")


def test_a_title_is_cut_between_words() -> None:
    text = "The Falcon service " + "keeps a very long list of words " * 6
    title = assign(chunk(text), candidates=[]).title
    assert len(title) <= 80
    assert text.startswith(title)
    assert text[len(title)] == " "


def test_values_of_one_attribute_share_a_subject_key() -> None:
    known = [candidate("Falcon service"), candidate("库存系统")]
    keys = {
        assign(chunk(text), candidates=known).subject_key
        for text in ["The port of the Falcon service is 1.", "The port of Falcon is now 2."]
    }
    assert keys == {"falcon service|port"}
    chinese = {
        assign(chunk(text), candidates=known).subject_key
        for text in ["库存系统的端口是 1。", "库存系统的端口现在改为 2。"]
    }
    assert chinese == {"库存系统|端口"}


def test_an_empty_text_falls_back() -> None:
    assert assign(chunk(""), candidates=[]).action == "fallback"

"""Comparison by rules: repeats, changes, and neighbours that must both stay."""

from datetime import timedelta

import pytest

from tests.workspaces.judging.contexts import NOW, candidate, chunk, leaf
from workspaces.judging.base import Comparison
from workspaces.judging.offline_assignment import assign
from workspaces.judging.offline_comparison import compare

KNOWN = [candidate("Falcon service"), candidate("库存系统")]


def related(old: str, new: str) -> Comparison:
    before, after = chunk(old, at=NOW - timedelta(days=9)), chunk(new)
    old_key = assign(before, candidates=KNOWN).subject_key
    new_key = assign(after, candidates=KNOWN).subject_key
    known = leaf(old, key=old_key, at=before.occurred_at)
    return compare(after, subject_key=new_key, leaves=[known])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The port of the Falcon service is 7000.", "The port of the Falcon service is now 7001."),
        (
            "The release day of the Falcon service is Monday.",
            "The release day of the Falcon service moved to Thursday.",
        ),
        (
            "The owner of the Falcon service is Marta Silva.",
            "The owner of the Falcon service is now Ravi Menon.",
        ),
        ("库存系统的端口是 7000。", "库存系统的端口改为 7001。"),
        ("库存系统的发布日是每周一。", "库存系统的发布日改到每周四。"),
        ("库存系统的值班由李娜负责。", "库存系统的值班现在由王建国负责。"),
        ("我妈妈今年50岁。", "我妈妈今年51岁。"),
        ("My mother is 50 years old.", "My mother is 51 years old."),
    ],
)
def test_a_changed_value_supersedes(old: str, new: str) -> None:
    comparison = related(old, new)
    assert (comparison.relation, comparison.leaf_id) == ("supersedes_existing", "leaf-1")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The Falcon service uses port 7000.", "the falcon service uses Port 7000"),
        ("库存系统的端口是 7000。", "库存系统的端口是７０００"),
        ("The port of the Falcon service is 7000.", "So the port of the Falcon service is 7000."),
    ],
)
def test_a_repeat_is_the_same_memory(old: str, new: str) -> None:
    assert related(old, new).relation == "same_memory"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "The port of the Falcon service in production is 7000.",
            "The port of the Falcon service in staging is now 7001.",
        ),
        ("The Falcon service keeps logs for 30 days.", "The Falcon service has 6 replicas."),
        ("The Falcon service failed on 2 May 2026.", "The Falcon service failed on 9 May 2026."),
        (
            "The access log of the Falcon service is kept for 30 days.",
            "The error log of the Falcon service is kept for 90 days.",
        ),
        ("Yesterday I ran five kilometres.", "Yesterday I ran five kilometres."),
        ("库存系统的生产端口是 7000。", "库存系统的测试端口现在是 7001。"),
        ("库存系统的日志保留 30 天。", "库存系统有 6 个节点。"),
        ("I like tea.", "I like coffee."),
        ("I did not go to Rome.", "I like the sea."),
        # What somebody is: their home and their work are two things.
        ("我的下属是上海人。", "我的下属是个老师。"),
        ("我的下属是名助教。", "我的下属现在35岁。"),
        # One has several of these, and says of none which it is.
        ("My colleague is 34 years old.", "My colleague is 27 years old."),
        ("我的下属学历是专科。", "我的下属学历是硕士。"),
        ("新品发布会的规模是七千人。", "金融新品发布会的规模是二百人。"),
        (
            "Wow, that looks great! Where in England was it?",
            "Wow, John, that looks great! What next?",
        ),
    ],
)
def test_neighbours_both_stay(old: str, new: str) -> None:
    comparison = related(old, new)
    assert comparison.relation == "different"
    assert comparison.leaf_id is None


def test_a_later_tool_result_does_not_undo_an_earlier_one() -> None:
    old = "Deploy of Falcon service 2.1 succeeded: 6 of 6 healthy."
    new = chunk("Deploy of Falcon service 2.2 succeeded: 6 of 6 healthy.", kind="tool_result")
    key = "falcon service|deploy"
    assert compare(new, subject_key=key, leaves=[leaf(old, key=key)]).relation == "different"


def test_the_matching_leaf_is_named_among_several() -> None:
    leaves = [
        leaf("The Falcon service has 6 replicas.", leaf_id="a"),
        leaf("The port of the Falcon service is 7000.", key="falcon service|port", leaf_id="b"),
    ]
    new = chunk("The port of the Falcon service is now 7001.")
    assert compare(new, subject_key="falcon service|port", leaves=leaves).leaf_id == "b"


def test_without_leaves_nothing_is_related() -> None:
    assert compare(chunk("Anything."), subject_key="", leaves=[]).relation == "different"

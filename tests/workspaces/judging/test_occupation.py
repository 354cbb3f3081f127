"""A new occupation ends the old one where the text says that it is new, and nothing else does."""

from datetime import timedelta

import pytest

from tests.workspaces.judging.contexts import NOW, chunk, leaf
from workspaces.judging.offline import OfflineJudge
from workspaces.judging.subject_keys import subject_key


def relation(old: str, new: str, *, owner: str) -> str:
    keys = [
        f"{owner}|{subject_key(text, subject=owner if owner in text else '').partition('|')[2]}"
        for text in (old, new)
    ]
    return (
        OfflineJudge()
        .compare(
            chunk(new, at=NOW + timedelta(days=1)),
            subject_key=keys[1],
            leaves=[leaf(old, key=keys[0])],
        )
        .relation
    )


@pytest.mark.parametrize(
    ("owner", "old", "new"),
    [
        ("Ana", "Ana is a nurse.", "Ana is a doctor now."),
        ("Ana", "Ana works as a nurse in Lisbon.", "Ana now works as a doctor."),
        ("Ana", "I am a student.", "I'm now a software engineer."),
        ("Ana", "Ana is a nurse.", "Ana became a doctor."),
        ("李敏", "李敏是一名护士。", "李敏现在是一名医生了。"),
        ("李敏", "李敏是护士。", "李敏改行做了设计师。"),
        ("李敏", "我是老师。", "我现在是一名律师。"),
        ("Atlas gateway", "The Atlas gateway runs 5.1.", "The Atlas gateway runs 5.2."),
        ("支付网关", "支付网关的版本是5.1。", "支付网关已升级到5.2版本。"),
    ],
)
def test_the_new_one_ends_the_old_one(owner: str, old: str, new: str) -> None:
    assert relation(old, new, owner=owner) == "supersedes_existing"


@pytest.mark.parametrize(
    ("owner", "old", "new"),
    [
        ("Ana", "Ana is a nurse.", "Ana is a mother now."),
        ("Ana", "Ana is a nurse.", "Ana is also a teacher now."),
        ("Ana", "Ana is a nurse.", "Ana is a teacher."),
        ("Ana", "Ana's sister is a nurse.", "Ana is a teacher now."),
        ("李敏", "李敏是护士。", "李敏的妹妹现在是医生。"),
        ("李敏", "李敏是护士。", "李敏也是老师。"),
        ("Ana", "Ana is a nurse.", "Ana 现在住在北京。"),
        ("Atlas gateway", "The Atlas gateway runs 5.1.", "Atlas gateway 的超时是 5.2 秒。"),
        ("Atlas gateway", "The Atlas gateway listens on 8443.", "Atlas gateway 监听 8443 端口。"),
    ],
)
def test_a_neighbour_ends_nothing(owner: str, old: str, new: str) -> None:
    assert relation(old, new, owner=owner) == "different"

import pytest

from retrieval.stages.conflicts import disagree


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "The staging copy of Atlas lives in Frankfurt.",
            "The staging copy of Atlas lives in Dublin.",
        ),
        ("Atlas listens on port 8443.", "Atlas listens on port 9443."),
        ("支付网关使用 9000 端口。", "支付网关使用 9443 端口。"),
        ("值班表由韩雪负责。", "值班表由李雷负责。"),
        ("Maya prefers short answers in meetings.", "Maya prefers long answers in meetings."),
    ],
)
def test_the_same_statement_with_another_value_disagrees(first: str, second: str) -> None:
    assert disagree(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "The Harbor pipeline takes 11 minutes for a full run.",
            "The Harbor pipeline runs the security scan every night at 01:00 UTC.",
        ),
        (
            "Backup of db-ledger-01 completed: 84 GB written in 22 minutes.",
            "The backup of db-ledger-01 is complete, I stored 84 GB.",
        ),
        ("发布流程完整跑一遍要 13 分钟。", "发布流程要求所有镜像都要签名。"),
        ("", "Atlas listens on port 9443."),
    ],
)
def test_other_sides_of_a_subject_do_not_disagree(first: str, second: str) -> None:
    assert not disagree(first, second)

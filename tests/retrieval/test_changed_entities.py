"""Questions by the old and the new name find the same facts after renames and merges."""

import pytest

from tests.retrieval.asking import ask, excerpts
from tests.sampling import sampled
from tests.verification import assert_clean
from tests.workspaces.entities import (
    ATLAS,
    BOREALIS,
    PAYMENT,
    SETTLEMENT,
    merge,
    remember_gateways,
    remember_platforms,
    rename,
)
from tests.workspaces.memory import drain
from workspaces.models.tenancy import Workspace

BUDGET = "budget of two machines"


def settle(workspace: Workspace) -> None:
    drain(workspace)
    assert_clean(workspace)


@pytest.mark.parametrize(
    "name", sampled(["Polar gateway", "Borealis gateway"], fast=("Borealis gateway",))
)
def test_a_renamed_entity_is_asked_about_by_either_name(workspace: Workspace, name: str) -> None:
    remember_gateways(workspace)
    rename(workspace, BOREALIS, "Polar gateway")
    settle(workspace)
    answer = ask(workspace, f"What is the budget of the {name}?")
    assert BUDGET in excerpts(answer)
    assert answer["intent"]["entities"] == ["Polar gateway"]


@pytest.mark.parametrize("name", ["收银网关", "支付网关"])
def test_a_renamed_chinese_entity_is_asked_about_by_either_name(
    workspace: Workspace, name: str
) -> None:
    remember_platforms(workspace)
    rename(workspace, PAYMENT, "收银网关")
    settle(workspace)
    answer = ask(workspace, f"{name}什么时候备份?")
    assert "凌晨两点备份" in excerpts(answer)
    assert answer["intent"]["entities"] == ["收银网关"]


@pytest.mark.parametrize(
    "name",
    sampled(
        ["Atlas gateway", "Borealis gateway", "ＢＯＲＥＡＬＩＳ gateway"],
        fast=("ＢＯＲＥＡＬＩＳ gateway",),
    ),
)
def test_merged_entities_are_asked_about_by_either_name(workspace: Workspace, name: str) -> None:
    remember_gateways(workspace)
    merge(workspace, BOREALIS, ATLAS)
    settle(workspace)
    answer = ask(workspace, f"What is the budget of the {name}?")
    assert BUDGET in excerpts(answer)
    assert answer["intent"]["entities"] == ["Atlas gateway"]


def test_merged_chinese_entities_are_asked_about_by_either_name(workspace: Workspace) -> None:
    remember_platforms(workspace)
    merge(workspace, SETTLEMENT, PAYMENT)
    settle(workspace)
    for name in ("结算平台", "支付网关"):
        answer = ask(workspace, f"{name}用什么数据库?")
        assert "PostgreSQL" in excerpts(answer)
        assert answer["intent"]["entities"] == ["支付网关"]


@pytest.mark.parametrize(
    "named", sampled([BOREALIS, "Borealis gateway", ATLAS], fast=("Borealis gateway",))
)
def test_the_filter_by_entity_knows_the_slug_and_name_of_the_merged_one(
    workspace: Workspace, named: str
) -> None:
    remember_gateways(workspace)
    merge(workspace, BOREALIS, ATLAS)
    settle(workspace)
    answer = ask(workspace, "What is the budget?", entities=[named])
    assert BUDGET in excerpts(answer)

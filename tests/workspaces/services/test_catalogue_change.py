"""Change over time through the whole write path, in both languages."""

from datetime import datetime, timedelta

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.verification import assert_clean, errors_of
from tests.workspaces.memory import ATLAS_FACTS, MORNING, draft, remember
from tests.workspaces.model_memory import know_atlas
from tests.workspaces.scripted_model import ScriptedModel, answer, match_first, relate_to_first
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf

DAY = 24 * 60


def leaves(workspace: Workspace) -> list[SourceLeaf]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.leaves.order_by("observed_at", "id"))


def statuses(workspace: Workspace) -> list[str]:
    return [leaf.status for leaf in leaves(workspace)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I have worked at Google for 5 years.", "I have worked at Google for 6 years."),
        ("我在谷歌工作了五年。", "我在谷歌工作了6年。"),
        ("I love sushi, and I eat it every week.", "I hate sushi now, after that summer."),
        ("我喜欢吃香菜。", "我讨厌吃香菜。"),
        ("I live in Berlin near the river.", "I moved from Berlin to Paris."),
        ("我住在北京朝阳区。", "我从北京朝阳区搬到上海了。"),
        ("I am assigned to project Falcon.", "I am now assigned to project Osprey."),
        ("我负责支付项目。", "我现在负责订单项目。"),
    ],
)
def test_one_fact_is_current_and_the_old_one_closes_on_its_date(
    workspace: Workspace, before: str, after: str
) -> None:
    [_, changed] = remember(
        workspace, draft(before, actor="Ana"), draft(after, actor="Ana", minutes=DAY)
    )
    old, new = leaves(workspace)
    assert [chunk.outcome for chunk in changed.chunks] == ["superseding"]
    assert (old.status, old.superseded_by_id, old.valid_until) == (
        "superseded",
        new.id,
        MORNING + timedelta(days=1),
    )
    assert (new.status, new.valid_until) == ("active", None)
    assert_clean(workspace)


UNRELATED = [
    "My tenant 1 has rule number 1.",
    "My tenant 2 has rule number 2.",
    "I love sushi, and I eat it every week.",
    "I hate traffic in the morning.",
    "I have worked at Google for 5 years.",
    "I live in Berlin near the river.",
    "My sister is 34 years old.",
    "My brother is 35 years old.",
    "I am allergic to nuts.",
    "I ran 5 km on May 1.",
    "I ran 10 km on May 8.",
    "我喜欢喝咖啡。",
    "我弟弟今年34岁。",
    "我妹妹今年35岁。",
    "我负责支付项目的预算。",
    "我每周三下午打羽毛球。",
]


def test_unrelated_facts_of_one_person_retire_none_of_each_other(workspace: Workspace) -> None:
    remember(
        workspace,
        *[draft(text, actor="Ana", minutes=n * DAY) for n, text in enumerate(UNRELATED)],
    )
    assert statuses(workspace) == ["active"] * len(UNRELATED)
    assert_clean(workspace)


def window(day: str) -> str:
    return f"The deployment window of the Atlas gateway is {day} from 10:00 to 12:00."


def periods(workspace: Workspace) -> list[tuple[datetime, datetime | None]]:
    return [(leaf.observed_at, leaf.valid_until) for leaf in leaves(workspace)]


def at(day: int) -> datetime:
    return MORNING + timedelta(days=day)


@pytest.mark.parametrize(
    "arrival", [(0, 10, 5), (10, 0, 5), (10, 5, 0), (0, 10, 5, 2, 7), (10, 7, 2, 5, 0)]
)
def test_versions_follow_each_other_whatever_the_order_of_arrival(
    workspace: Workspace, arrival: tuple[int, ...]
) -> None:
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
    named = dict(zip(sorted(arrival), days, strict=False))
    for day in arrival:
        remember(workspace, draft(window(named[day]), minutes=day * DAY))
    ordered = sorted(arrival)
    assert periods(workspace) == [
        (at(day), at(later) if later is not None else None)
        for day, later in zip(ordered, [*ordered[1:], None], strict=True)
    ]
    assert statuses(workspace) == ["superseded"] * (len(arrival) - 1) + ["active"]
    assert_clean(workspace)


def test_what_came_between_two_statements_of_the_same_was_never_in_force(
    workspace: Workspace,
) -> None:
    remember(workspace, draft(window("Monday")), draft(window("Monday"), minutes=10 * DAY))
    remember(workspace, draft(window("Friday"), minutes=5 * DAY))
    assert periods(workspace) == [(at(0), None), (at(5), at(5))]
    assert_clean(workspace)


def test_a_fact_that_comes_back_is_a_new_period(workspace: Workspace) -> None:
    for day, name in ((0, "Monday"), (1, "Tuesday"), (2, "Monday")):
        remember(workspace, draft(window(name), minutes=day * DAY))
    assert periods(workspace) == [(at(0), at(1)), (at(1), at(2)), (at(2), None)]
    assert_clean(workspace)


def test_a_late_word_about_an_earlier_period_of_the_same_fact_is_no_duplicate(
    workspace: Workspace,
) -> None:
    for day, name in ((0, "Monday"), (10, "Tuesday"), (5, "Monday")):
        remember(workspace, draft(window(name), minutes=day * DAY))
    assert periods(workspace) == [(at(0), at(5)), (at(5), at(10)), (at(10), None)]
    assert_clean(workspace)


def test_two_versions_that_are_valid_at_once_are_an_error(workspace: Workspace) -> None:
    for day, name in ((0, "Monday"), (5, "Tuesday"), (10, "Friday")):
        remember(workspace, draft(window(name), minutes=day * DAY))
    first = leaves(workspace)[0]
    set_end(workspace, leaf=first, to=at(10))
    overlapping = [found.object for found in errors_of(workspace) if found.code == "L1"]
    set_end(workspace, leaf=first, to=at(5))
    assert overlapping == [f"leaf:{first.id}"]
    assert_clean(workspace)


def set_end(workspace: Workspace, *, leaf: SourceLeaf, to: datetime) -> None:
    with workspace_scope(workspace, ALL_SCOPES):
        workspace.leaves.filter(id=leaf.id).update(valid_until=to)


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("The gateway has 4 machines.", "The  gateway has ４ machines."),
        ("支付网关有四台机器。", "支付网关有四台机器。\u200b"),
        ("支付网关的端口是 8443。", "支付网关的端口是　８４４３。"),
    ],
)
def test_time_space_and_width_make_no_second_memory(
    workspace: Workspace, said: str, again: str
) -> None:
    remember(workspace, draft(said, session="one"))
    [result] = remember(
        workspace, draft(again, minutes=3 * DAY, session="two", metadata={"page": 7})
    )
    assert [chunk.outcome for chunk in result.chunks] == ["noop_duplicate"]
    assert statuses(workspace) == ["active"]


@pytest.mark.parametrize("confidence", [0.0, 0.49])
def test_a_judge_that_is_not_sure_creates(
    workspace: Workspace, model: ScriptedModel, confidence: float
) -> None:
    know_atlas(workspace, model)
    model.answers |= {
        "assignment": match_first(),
        "comparison": relate_to_first("supersedes_existing", confidence=confidence),
    }
    remember(workspace, draft("Atlas answers on port 9443.", minutes=1))
    model.answers["comparison"] = answer({"relation": "unsure", "leaf_id": None, "confidence": 1})
    remember(workspace, draft("Atlas answers on port 9444.", minutes=2))
    assert statuses(workspace) == ["active"] * 3


def test_a_summary_is_dated_at_its_newest_source(workspace: Workspace) -> None:
    remember(
        workspace,
        *[draft(fact, minutes=(9 - n) * DAY) for n, fact in enumerate(ATLAS_FACTS[:8])],
    )
    with workspace_scope(workspace, ALL_SCOPES):
        root = workspace.summaries.get(is_root=True)
    assert (root.time_range_start, root.observed_at) == (at(2), at(9))

"""Every call of the chat model is recorded, priced, and added to the day's sum."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.environment import get_environment
from holamem.errors import InvalidInput, ProviderError
from holamem.providers.base import Usage
from tests.openai_server import garbage
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, remember
from tests.workspaces.model_memory import ATLAS, LOG, PORT, know_atlas
from tests.workspaces.scripted_model import ScriptedModel, match_first
from workspaces.models.tenancy import Workspace
from workspaces.models.usage import ModelCall
from workspaces.services import housekeeping
from workspaces.services.end_users import end_user_scope
from workspaces.services.model_calls import chat_model_of, model_call
from workspaces.services.usage import tenant_usage, usage_by_day


def calls_of(workspace: Workspace) -> list[ModelCall]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.model_calls.order_by("circuit_seq"))


def call(workspace: Workspace, usage: Usage, *, purpose: str = "generation") -> None:
    with model_call(workspace, purpose=purpose, scope_id=workspace.pk, model="m") as made:
        made.usage = usage


def test_all_that_the_write_path_asks_a_model_is_recorded(
    workspace: Workspace, model: ScriptedModel
) -> None:
    know_atlas(workspace, model)
    model.answers["assignment"] = match_first()
    remember(workspace, draft(LOG, minutes=1, admission="judge"))
    drain(workspace)
    recorded = calls_of(workspace)
    assert [row.purpose for row in recorded] == model.purposes()
    assert {"admission", "assignment", "comparison"} <= {row.purpose for row in recorded}
    assert [row.circuit_seq for row in recorded] == list(range(1, len(recorded) + 1))
    assert {row.outcome for row in recorded} == {"succeeded"}
    assert all(row.provider.startswith("127.0.0.1:") and row.cost is None for row in recorded)
    total = usage_by_day(workspace).total
    assert total.calls == len(recorded)
    assert total.input_tokens == sum(row.input_tokens for row in recorded) > 0
    assert total.cost is None
    assert_clean(workspace)


def test_a_call_for_an_end_users_memory_is_that_ones(
    workspace: Workspace, model: ScriptedModel
) -> None:
    remember(workspace, draft(PORT, user_id="ana", admission="judge"))
    scopes = {row.scope_id for row in calls_of(workspace)}
    assert scopes == {end_user_scope(workspace, ref="ana")}


def test_the_usage_of_an_answer_that_is_of_no_use_counts(
    workspace: Workspace, model: ScriptedModel
) -> None:
    model.answers["assignment"] = garbage()
    remember(workspace, draft(PORT))
    row = calls_of(workspace)[0]
    assert (row.outcome, row.purpose) == ("unusable", "assignment")
    assert row.input_tokens > 0
    assert usage_by_day(workspace).total.without_answer >= 1


def test_a_price_makes_a_cost_exact_to_the_millionth(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(workspace, Usage(7, 7, estimated=False))
    monkeypatch.setenv("HOLAMEM_CHAT_PRICE_IN", "2.5")
    monkeypatch.setenv("HOLAMEM_CHAT_PRICE_OUT", "10")
    get_environment.cache_clear()
    call(workspace, Usage(1_000, 200, estimated=False))
    monkeypatch.undo()
    get_environment.cache_clear()
    report = usage_by_day(workspace)
    assert [row.cost for row in calls_of(workspace)] == [None, Decimal("0.0045")]
    assert (report.total.cost, report.total.without_price) == (Decimal("0.0045"), 1)
    assert report.total.input_tokens == 1_007
    assert tenant_usage(workspace.tenant_id).total == report.total
    assert_clean(workspace)


def test_usage_is_told_by_day_and_purpose_of_a_bounded_time(workspace: Workspace) -> None:
    call(workspace, Usage(1, 1, estimated=True), purpose="summary")
    call(workspace, Usage(2, 2, estimated=True), purpose="generation")
    call(workspace, Usage(3, 3, estimated=True), purpose="generation")
    today = now().date()
    days = usage_by_day(workspace).days
    assert [(day.purpose, day.taken.calls, day.taken.input_tokens) for day in days] == [
        ("generation", 2, 5),
        ("summary", 1, 1),
    ]
    yesterday = today - timedelta(days=1)
    assert usage_by_day(workspace, since=yesterday, until=yesterday).total.calls == 0
    with pytest.raises(InvalidInput):
        usage_by_day(workspace, since=today, until=yesterday)
    with pytest.raises(InvalidInput):
        usage_by_day(workspace, since=today - timedelta(days=366), until=today)


def test_a_call_that_was_given_up_is_recorded_with_what_it_took(workspace: Workspace) -> None:
    def give_up() -> None:
        with model_call(workspace, purpose="generation", scope_id=workspace.pk, model="m") as made:
            made.usage = Usage(40, 3, estimated=True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        give_up()
    [row] = calls_of(workspace)
    assert (row.outcome, row.output_tokens, row.error) == ("cancelled", 3, "KeyboardInterrupt")


def test_nothing_of_a_failure_but_one_word_is_kept(
    workspace: Workspace, model: ScriptedModel
) -> None:
    with (
        pytest.raises(ProviderError),
        model_call(workspace, purpose="generation", scope_id=workspace.pk, model="m"),
    ):
        raise ProviderError("secret words of a prompt", detail={"kind": "status", "status": 500})
    [row] = calls_of(workspace)
    assert (row.outcome, row.error) == ("failed", "status 500")
    assert chat_model_of(workspace, scope_id=workspace.pk) is not None
    assert ATLAS not in row.error


def test_rows_of_old_calls_go_and_the_usage_of_their_days_stays(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        call(workspace, Usage(1, 1, estimated=True))
    with workspace_scope(workspace):
        workspace.model_calls.update(at="2026-01-01T12:00:00Z")
        workspace.usage_days.update(day="2026-01-01")
    monkeypatch.setattr(housekeeping, "CALLS_KEPT", 2)
    housekeeping.remove_expired()
    assert [row.circuit_seq for row in calls_of(workspace)] == [2, 3, 4]
    day = date(2026, 1, 1)
    assert usage_by_day(workspace, since=day, until=day).total.calls == 4
    assert_clean(workspace)

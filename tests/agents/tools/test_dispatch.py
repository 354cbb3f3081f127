"""The calls of a reply: what runs, what does not, and what the model reads in each case."""

from copy import copy
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from django.db import connections

from agents.hot.text_memory import get_text_memory, list_versions
from agents.models.runs import ToolCall
from agents.services.states import RunLost
from agents.tools import dispatch
from agents.tools.registry import Tool, ToolContext, ToolOutcome
from agents.tools.settling import RESULTS
from holamem.database.scope import workspace_scope
from tests.agents.replies import Conversation, dies_at, end_user, key, talk, tool
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace

NOTHING: dict[str, Any] = {"type": "object"}
SAVE = {"action": "save", "name": "plan", "content": "Ship on Friday.", "summary": "The date"}


def counting(done: list[str], **fields: Any) -> Tool:
    def execute(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
        done.append(str(arguments.get("n", "")))
        return ToolOutcome(arguments.get("n") != "bad", f"did {arguments.get('n')}", "told_so")

    return Tool("count", "Counts.", NOTHING, execute, **fields)


def statuses(talking: Conversation) -> list[str]:
    return [call.status for call in talking.reload()]


def test_calls_run_and_their_results_are_told_once_each(workspace: Workspace) -> None:
    talking = talk(workspace)
    talking.reply(("ping", {}), ("memory_read", {"action": "list"}), ("ping", ""))
    talking.work()
    talking.work()
    assert statuses(talking) == ["succeeded"] * 3
    assert talking.results() == {
        "call_0": "pong",
        "call_1": "There are no topics yet.",
        "call_2": "pong",
    }
    assert talking.events().count("tool.result") == 3
    talking.end()
    assert_clean(workspace)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("shell", {}, "There is no such tool here: memory_browse,"),
        ("memory_search", {}, "'query' is a required property"),
        ("memory_search", {"query": "x", "limit": "7"}, "limit: '7' is not of type 'integer'"),
        ("memory_search", {"query": "x", "user_id": "*"}, "Additional properties"),
        ("memory_search", '{"query": "a", "query": "b"}', "not valid JSON"),
        ("memory_search", '{"query": NaN}', "not valid JSON"),
        ("memory_search", '{"query": "\\u0000"}', "cannot be stored"),
        ("memory_search", '{"query": ' + "[" * 5_000, "not valid JSON"),
        ("memory_search", "[1]", "must be a JSON object"),
    ],
)
def test_a_call_that_cannot_run_fails_at_once_and_says_why(
    workspace: Workspace, name: str, arguments: Any, words: str
) -> None:
    talking = talk(workspace)
    [call] = talking.reply((name, arguments))
    assert call.status == "failed"
    assert words in talking.results()["call_0"]
    assert "tool.result" in talking.events()


def test_a_run_has_a_budget_of_calls(workspace: Workspace) -> None:
    talking = talk(workspace, tool_calls=2)
    talking.reply(("ping", {}), ("ping", {}), ("ping", {}))
    assert [call.reason for call in talking.work()] == ["", "", "tool_call_limit"]


def test_nothing_of_a_reply_runs_while_one_of_it_waits(workspace: Workspace) -> None:
    talking = talk(workspace)
    calls = talking.reply(("ping", {}), ("memory_write", SAVE))
    assert dispatch.waiting(calls)
    talking.work()
    assert statuses(talking) == ["pending", "pending"]
    talking.decide("approved")
    talking.take()
    assert statuses(talking) == ["pending", "approved"]
    talking.work()
    assert statuses(talking) == ["succeeded", "succeeded"]
    topic = get_text_memory(
        workspace, scopes=None, scope_id=workspace.pk, kind="topic", name="plan"
    )
    assert topic.content == "Ship on Friday."
    talking.end()
    assert_clean(workspace)


def test_a_denied_call_is_a_failed_result_and_the_run_goes_on(workspace: Workspace) -> None:
    talking = talk(workspace)
    talking.reply(("memory_write", SAVE), ("memory_write", {**SAVE, "name": "other"}))
    talking.decide("denied", "approved", reason="Not yet: 再等等.")
    talking.take()
    talking.work()
    assert statuses(talking) == ["denied", "succeeded"]
    assert talking.results()["call_0"] == "A person denied this call: Not yet: 再等等."
    with workspace_scope(workspace):
        names = workspace.text_memories.filter(kind="topic").values_list("name", flat=True)
        assert list(names) == ["other"]
    talking.end()
    assert_clean(workspace)


def test_two_workers_at_once_run_a_call_once(workspace: Workspace) -> None:
    done: list[str] = []
    with tool(counting(done)):
        talking = talk(workspace, tools=("count",))
        talking.reply(*[("count", {"n": str(n)}) for n in range(6)])
        barrier = Barrier(2)

        def work() -> None:
            barrier.wait()
            dispatch.run_calls(
                workspace,
                run=talking.run,
                session=talking.session,
                calls=talking.calls,
                is_cancelled=lambda: False,
            )
            connections.close_all()

        threads = [Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(done) == ["0", "1", "2", "3", "4", "5"]
    assert talking.events().count("tool.result") == 6


def test_a_worker_that_lost_its_run_starts_nothing(workspace: Workspace) -> None:
    done: list[str] = []
    with tool(counting(done)):
        talking = talk(workspace, tools=("count",))
        talking.reply(("count", {}))
        lost = copy(talking.run)
        talking.take()
        with pytest.raises(RunLost):
            dispatch.run_calls(
                workspace,
                run=lost,
                session=talking.session,
                calls=talking.calls,
                is_cancelled=lambda: False,
            )
    assert done == []
    assert statuses(talking) == ["pending"]


@pytest.mark.parametrize(
    ("point", "may_repeat", "times", "status"),
    [
        ("tool.before_start", False, 1, "succeeded"),
        ("tool.started", False, 0, "unknown_outcome"),
        ("tool.started", True, 1, "succeeded"),
        ("tool.executed", False, 1, "unknown_outcome"),
        ("tool.executed", True, 2, "succeeded"),
        ("tool.ended", False, 1, "succeeded"),
    ],
)
def test_a_call_of_a_worker_that_died_is_repeated_only_where_it_may_be(
    workspace: Workspace, point: str, may_repeat: bool, times: int, status: str
) -> None:
    done: list[str] = []
    with tool(counting(done, is_idempotent=may_repeat)):
        talking = talk(workspace, tools=("count",))
        talking.reply(("count", {"n": "1"}))
        with dies_at(point):
            talking.work()
        talking.take()
        talking.work()
    assert (len(done), statuses(talking)) == (times, [status])
    if status == "unknown_outcome":
        assert talking.results() == {"call_0": RESULTS["unknown_outcome"]}
    assert talking.events().count("tool.result") == 1
    talking.end()
    assert_clean(workspace)


def test_memory_that_was_written_before_the_worker_died_is_not_written_again(
    workspace: Workspace,
) -> None:
    talking = talk(workspace)
    talking.reply(("memory_write", SAVE))
    talking.decide("approved")
    talking.take()
    with dies_at("tool.executed"):
        talking.work()
    talking.take()
    talking.work()
    assert statuses(talking) == ["succeeded"]
    versions = list_versions(
        workspace, scopes=None, scope_id=workspace.pk, kind="topic", name="plan"
    )
    assert [row.version for row in versions] == [1]
    talking.end()
    assert_clean(workspace)


def test_a_cancel_leaves_a_hanging_tool_behind(workspace: Workspace) -> None:
    began, release = Event(), Event()

    def hang(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
        began.set()
        release.wait(20)
        return ToolOutcome(True, "late")

    with tool(Tool("hang", "Hangs.", NOTHING, hang)):
        talking = talk(workspace, tools=("hang",))
        talking.reply(("hang", {}), ("ping", {}))
        dispatch.run_calls(
            workspace,
            run=talking.run,
            session=talking.session,
            calls=talking.calls,
            is_cancelled=began.is_set,
        )
        assert statuses(talking)[0] == "running"
        talking.end()
        release.set()
    assert statuses(talking) == ["unknown_outcome", "cancelled"]
    assert talking.events().count("tool.result") == 2
    assert_clean(workspace)


def test_a_tool_that_takes_too_long_is_given_up(workspace: Workspace) -> None:
    release = Event()

    def hang(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
        release.wait(20)
        return ToolOutcome(True, "late")

    with tool(Tool("hang", "Hangs.", NOTHING, hang, is_idempotent=True, seconds=0.05)):
        talking = talk(workspace, tools=("hang",))
        talking.reply(("hang", {}))
        [call] = talking.work()
        release.set()
    assert (call.status, call.reason) == ("failed", "timed_out")


def test_calls_that_may_run_beside_each_other_do(workspace: Workspace) -> None:
    barrier = Barrier(3)

    def meet(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
        barrier.wait(10)  # broken when they run one after the other
        return ToolOutcome(True, "met")

    with tool(Tool("meet", "Meets.", NOTHING, meet)):
        talking = talk(workspace, tools=("meet",))
        talking.reply(*[("meet", {})] * 3)
        talking.work()
    assert statuses(talking) == ["succeeded"] * 3


def test_after_a_failure_that_stops_the_rest_of_the_reply_does_not_run(
    workspace: Workspace,
) -> None:
    done: list[str] = []
    with tool(counting(done, failure_policy=ToolCall.FailurePolicy.STOP)):
        talking = talk(workspace, tools=("count",))
        talking.reply(("count", {"n": "1"}), ("count", {"n": "bad"}), ("ping", {}))
        calls = talking.work()
    assert done == ["1", "bad"]
    assert [(call.status, call.reason) for call in calls] == [
        ("succeeded", ""),
        ("failed", "told_so"),
        ("cancelled", "stopped"),
    ]


def test_a_tool_that_raises_fails_without_its_words(workspace: Workspace) -> None:
    def burst(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
        raise RuntimeError("postgres://user:pass@db")

    with tool(Tool("burst", "Bursts.", NOTHING, burst)):
        talking = talk(workspace, tools=("burst",))
        talking.reply(("burst", {}))
        [call] = talking.work()
    assert (call.reason, call.result) == ("internal_error", "The tool failed.")


def test_a_tool_that_went_away_before_the_approval_does_not_run(workspace: Workspace) -> None:
    done: list[str] = []
    with tool(counting(done, needs_approval=True)):
        talking = talk(workspace, tools=("count",))
        talking.reply(("count", {}))
        talking.decide("approved")
        talking.take()
    [call] = talking.work()
    assert (call.status, call.reason, done) == ("failed", "unknown_tool", [])


def test_secrets_in_arguments_and_results_are_masked(workspace: Workspace) -> None:
    secret = "sk-proj-" + "a1B2" * 12

    def tell(context: ToolContext, arguments: dict[str, Any]) -> ToolOutcome:
        return ToolOutcome(True, f"\x00The key is {secret}\ud800")

    with tool(Tool("tell", "Tells.", NOTHING, tell)):
        talking = talk(workspace, tools=("tell",))
        talking.reply(("tell", {"note": f"use {secret}"}))
        [call] = talking.work()
    assert secret not in str(call.arguments)
    assert secret not in talking.results()["call_0"]
    assert talking.results()["call_0"].startswith("The key is [masked:")


def test_a_run_of_an_end_users_key_writes_that_users_memory_only(workspace: Workspace) -> None:
    ana = end_user(workspace)
    talking = talk(workspace, user_id=ana, mode="autonomous", by=key(workspace, end_user_id=ana))
    talking.reply(("memory_write", SAVE), ("memory_write", {**SAVE, "scope": "workspace"}))
    calls = talking.work()
    assert [(call.status, call.reason) for call in calls] == [
        ("succeeded", ""),
        ("failed", "permission_denied"),
    ]
    with workspace_scope(workspace, [ana, workspace.pk]):
        rows = workspace.text_memories.filter(kind="topic")
        assert list(rows.values_list("scope_id", flat=True)) == [ana]


def test_a_topic_that_was_not_read_is_not_written_over(workspace: Workspace) -> None:
    talking = talk(workspace, mode="autonomous")
    talking.reply(("memory_write", SAVE))
    talking.work()
    talking.reply(("memory_write", {**SAVE, "content": "Blind."}))
    talking.work()
    assert "Read it" in talking.results()["call_0"]
    talking.reply(("memory_read", {"action": "topic", "name": "Plan"}))
    talking.work()
    assert talking.results()["call_0"].startswith("version 1\n<holamem-memory")
    talking.reply(("memory_write", {**SAVE, "content": "Monday.", "version": 1}))
    talking.work()
    assert talking.results()["call_0"] == "Saved the topic 'plan' as version 2."
    talking.end()
    assert_clean(workspace)

"""Tool results in chat messages: a failed call never becomes memory, a good one may."""

import json

import pytest

from tests.verification import assert_clean
from tests.workspaces.memory import drain, principal_of, results_of
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import receive_events
from workspaces.services.messages import messages_to_drafts
from workspaces.services.tool_results import tells_success

SUCCEEDED = [
    "The backup of the orders database finished: 14 GB in 3 minutes.",
    "exit code 0",
    "status code 200",
    "No errors found.",
    "Error rate is 0.2 percent.",
    "0 failed, 18 passed",
    "timeout is 30 seconds",
    "备份完成，共 14 GB。",
    "错误率是千分之二。",
    json.dumps({"status": "ok", "rows": 12}),
    json.dumps({"success": True, "error": None, "exit_code": 0}),
    json.dumps([{"error": "in a list of log lines"}]),
]
FAILED = [
    "Error: connection refused",
    "TypeError: unsupported operand",
    "Traceback (most recent call last):\n  File",
    "Permission denied",
    "bash: foo: command not found\nexit code 127",
    "Command exited with code 1",
    "failed to connect to db-1",
    "timed out after 30 s",
    "HTTP status code: 503",
    "错误：连接被拒绝",
    "部署失败，请检查日志。",
    "没有权限访问该目录",
    json.dumps({"success": False}),
    json.dumps({"ok": False, "rows": 0}),
    json.dumps({"error": "not found"}),
    json.dumps({"status": "failed"}),
    json.dumps({"exit_code": 2, "stdout": "done"}),
]


@pytest.mark.parametrize("text", SUCCEEDED)
def test_a_result_without_a_flag_succeeded(text: str) -> None:
    assert tells_success(text)


@pytest.mark.parametrize("text", FAILED)
def test_a_result_that_says_so_failed(text: str) -> None:
    assert not tells_success(text)


@pytest.mark.parametrize(
    ("flag", "text", "succeeded"),
    [
        ({"is_error": True}, "all fine", False),
        ({"is_error": False}, "Error: told by a log line", True),
        ({}, "all fine", True),
        ({}, "Error: connection refused", False),
    ],
)
def test_the_flag_of_a_block_goes_before_its_words(
    flag: dict[str, object], text: str, succeeded: bool
) -> None:
    block = {"type": "tool_result", "content": text, **flag}
    [draft] = messages_to_drafts([{"role": "user", "content": [block]}], user_id=None, session="s")
    assert (draft.kind, draft.succeeded) == ("tool_result", succeeded)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("The orders database has 14 tables and runs PostgreSQL 16.", "created"),
        ("订单数据库有 14 张表，版本是 PostgreSQL 16。", "created"),
        ("Error: the orders database has no table named bills in version 16.", "rejected"),
    ],
)
def test_a_tool_message_is_judged_by_what_it_says(
    workspace: Workspace, text: str, outcome: str
) -> None:
    drafts = messages_to_drafts([{"role": "tool", "content": text}], user_id=None, session="s")
    received = receive_events(workspace, drafts=drafts, principal=principal_of(workspace))
    drain(workspace)
    [result] = results_of(workspace, received.event_ids)
    assert [chunk.outcome for chunk in result.chunks] == [outcome]
    assert_clean(workspace)

"""What was recalled never becomes memory again, and Chinese memory is found by Chinese words."""

import json

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from retrieval.definitions import RetrieveRequest
from retrieval.retrieve import retrieve
from tests.verification import assert_clean
from tests.workspaces.memory import draft, remember
from workspaces.models.tenancy import Workspace
from workspaces.recall_mark import close_fence, open_fence
from workspaces.services.messages import messages_to_drafts

FACT = "The Atlas gateway listens on port 8443."
事实 = "支付网关的发布窗口是周一上午十点。"


def recalled(text: str) -> dict[str, str]:
    answer = {"retrieval_id": "r-1", "retrieval_pack": [{"text": text}]}
    return {
        "fenced": f"{open_fence('m')}\n{text}\n{close_fence('m')}",
        "fenced inside a turn": f"I found this: {open_fence('m')}{text}{close_fence('m')} Good?",
        "a whole answer": json.dumps(answer, ensure_ascii=False),
        "an answer inside an answer": json.dumps({"result": json.dumps(answer)}),
    }


@pytest.mark.parametrize("case", recalled(FACT))
@pytest.mark.parametrize("fact", [FACT, 事实])
@pytest.mark.parametrize("kind", ["user_message", "assistant_turn", "tool_result"])
@pytest.mark.parametrize("admission", ["judge", "accepted"])
def test_recalled_text_is_turned_away_whoever_sends_it(
    workspace: Workspace, case: str, fact: str, kind: str, admission: str
) -> None:
    values: dict[str, object] = {"succeeded": True} if kind == "tool_result" else {}
    [result] = remember(
        workspace, draft(recalled(fact)[case], kind=kind, admission=admission, **values)
    )
    assert {(chunk.outcome, chunk.reason) for chunk in result.chunks} == {("rejected", "recalled")}
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.leaves.count() == 0
    assert_clean(workspace)


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("content", [FACT, [{"type": "text", "text": FACT}]])
def test_system_text_is_no_event(role: str, content: object) -> None:
    messages = [{"role": role, "content": content}]
    assert messages_to_drafts(messages, user_id=None, session="s") == []


@pytest.mark.parametrize(
    ("memory", "query"),
    [
        (事实, "支付网关什么时候发布？"),
        (事实, "发布窗口"),
        ("张伟的邮箱是 zhangwei@example.com。", "张伟的邮箱"),
        ("库存系统每晚两点备份到杭州机房。", "库存系统备份到哪里"),
        (FACT, "Atlas gateway port"),
    ],
)
def test_a_memory_is_found_by_the_words_of_its_language(
    workspace: Workspace, memory: str, query: str
) -> None:
    others = ("订单中心的接口人是李雷。", "The Falcon service keeps logs for 30 days.")
    remember(workspace, draft(memory), *[draft(text, minutes=1) for text in others])
    request = RetrieveRequest(query=query, mode="exact_evidence", max_results=3, reasoning="off")
    [best, *_] = retrieve(workspace, scopes=None, request=request).evidence
    assert memory[:6] in best.row.title

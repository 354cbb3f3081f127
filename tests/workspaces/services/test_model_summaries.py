"""A summary is sealed only when it is a summary of its children; until then the old one stays."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.openai_server import Behaviour, failure
from tests.sampling import sampled
from tests.verification import assert_clean
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember, unfinished_jobs
from tests.workspaces.model_memory import (
    UNUSABLE,
    know_atlas,
    leaves_of,
    make_due,
    run_three_attempts,
)
from tests.workspaces.scripted_model import (
    MODEL_NAME,
    ScriptedModel,
    faithful_summary,
    match_first,
    relate_to_first,
    reply,
)
from workspaces.bodies import read_markdown
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SummaryNode
from workspaces.services.tenants import update_workspace

JSON = dict[str, object]
KEY = "sk-proj-" + "a1B2c3D4e5F6" * 4


def with_bullets(change: Callable[[list[dict[str, str]]], list[dict[str, str]]]) -> Behaviour:
    """A faithful summary whose bullets are changed."""

    def summary(document: JSON) -> JSON:
        faithful = faithful_summary(document)
        return faithful | {"bullets": change(faithful["bullets"])}

    return reply(summary)


def saying(text: str) -> Behaviour:
    return with_bullets(lambda bullets: [{**bullet, "text": text} for bullet in bullets])


WRONG_SUMMARIES: dict[str, Behaviour] = {
    "cites a stranger": with_bullets(lambda b: [b[0], {**b[1], "node_id": str(uuid4())}]),
    "cites nothing": with_bullets(lambda b: [{**b[0], "node_id": ""}]),
    "says nothing": with_bullets(lambda b: []),
    "blank": saying(" "),
    "in another language": saying("阿特拉斯网关监听一个端口。"),
    "too long": saying("The Atlas gateway is a gateway. " * 12),
    "numbers of its own": saying("The Atlas gateway listens on port 9999."),
    "numbers in words": saying("The Atlas gateway listens on ninety ports."),
    "names of its own": saying("The Atlas gateway of Zephyr Corporation listens on a port."),
    "an id of its own": saying("The Atlas gateway is described in ticket OPS-77."),
    "a refusal": saying("I cannot help with that request."),
    "a template": saying("Here is a summary of the memories above."),
    "the instructions": saying("You summarise memories of one subject."),
}


def two_full_leaves(workspace: Workspace, model: ScriptedModel, *, summary: Behaviour) -> None:
    """Two leaves in the Atlas tree, which is one full buffer."""
    update_workspace(workspace, settings={"seal_threshold": 2})
    know_atlas(workspace, model)
    model.answers |= {"assignment": match_first(), "summary": summary}
    remember(workspace, draft(ATLAS_FACTS[1], minutes=1))


def summaries_of(workspace: Workspace) -> list[SummaryNode]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.summaries.order_by("id"))


def test_the_model_writes_the_summary_and_cites_the_children(
    workspace: Workspace, model: ScriptedModel
) -> None:
    two_full_leaves(workspace, model, summary=reply(faithful_summary))
    [node] = summaries_of(workspace)
    cited = [
        f"- {text} [{leaf.id}]"
        for text, leaf in zip(ATLAS_FACTS, leaves_of(workspace), strict=False)
    ]
    assert read_markdown(node.body_path, sha256=node.body_sha256) == "\n".join(cited)
    assert (node.model, node.status, node.is_root) == (MODEL_NAME, "sealed", True)
    assert model.documents("summary")[0]["children"][0]["text"] == ATLAS_FACTS[0]
    assert_clean(workspace)


def test_summaries_of_summaries_cite_the_summaries(
    workspace: Workspace, model: ScriptedModel
) -> None:
    two_full_leaves(workspace, model, summary=reply(faithful_summary))
    remember(workspace, *[draft(ATLAS_FACTS[n], minutes=n) for n in (2, 3)])
    nodes = summaries_of(workspace)
    [root] = [node for node in nodes if node.is_root and node.status == "sealed"]
    body = read_markdown(root.body_path, sha256=root.body_sha256)
    assert root.height == 2
    assert all(str(child_id) in body for child_id in root.child_ids)
    assert not any(str(leaf.id) in body for leaf in leaves_of(workspace))
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


@pytest.mark.parametrize(
    "case",
    sampled(
        [*WRONG_SUMMARIES, *UNUSABLE],
        fast=("cites a stranger", "in another language", "numbers of its own", "truncated"),
    ),
)
def test_a_wrong_summary_is_refused_and_the_seal_waits(
    workspace: Workspace, model: ScriptedModel, case: str
) -> None:
    two_full_leaves(workspace, model, summary=(WRONG_SUMMARIES | UNUSABLE)[case])
    assert summaries_of(workspace) == []
    assert [leaf.parent_id for leaf in leaves_of(workspace)] == [None, None]
    assert [(topic, state) for topic, state, _ in unfinished_jobs(workspace)] == [
        ("tree.dirty", "ready")
    ]
    assert_clean(workspace)
    model.answers["summary"] = reply(faithful_summary)
    make_due(workspace)
    drain(workspace)
    assert [node.status for node in summaries_of(workspace)] == ["sealed"]
    assert unfinished_jobs(workspace) == []
    assert_clean(workspace)


@pytest.mark.parametrize(
    "case",
    sampled(
        [*WRONG_SUMMARIES, "refusal", "truncated", "empty"], fast=("names of its own", "refusal")
    ),
)
def test_a_stale_summary_stays_readable_while_its_replacement_fails(
    workspace: Workspace, model: ScriptedModel, case: str
) -> None:
    two_full_leaves(workspace, model, summary=reply(faithful_summary))
    [old] = summaries_of(workspace)
    text = read_markdown(old.body_path, sha256=old.body_sha256)
    model.answers |= {
        "comparison": relate_to_first("supersedes_existing"),
        "summary": (WRONG_SUMMARIES | UNUSABLE)[case],
    }
    remember(workspace, draft("The Atlas gateway listens on port 8444.", minutes=9))
    run_three_attempts(workspace)
    [stale] = summaries_of(workspace)
    assert (stale.id, stale.status, stale.is_root) == (old.id, "stale", True)
    assert read_markdown(stale.body_path, sha256=stale.body_sha256) == text
    assert_clean(workspace)


def test_a_summary_waits_out_an_outage(workspace: Workspace, model: ScriptedModel) -> None:
    two_full_leaves(workspace, model, summary=failure(503))
    for _ in range(5):
        make_due(workspace)
        drain(workspace)
    assert [(topic, state) for topic, state, _ in unfinished_jobs(workspace)] == [
        ("tree.dirty", "ready")
    ]
    model.answers["summary"] = reply(faithful_summary)
    make_due(workspace)
    drain(workspace)
    assert [node.status for node in summaries_of(workspace)] == ["sealed"]


@pytest.mark.parametrize(
    "invented",
    [
        "The access log grows by 730 megabytes a day.",
        "The access log is full [01a22990-7442-72f2-b29d-1a6a075551e1].",
    ],
)
def test_only_the_unsupported_statement_is_left_out(
    workspace: Workspace, model: ScriptedModel, invented: str
) -> None:
    two_full_leaves(
        workspace, model, summary=with_bullets(lambda b: [b[0], {**b[1], "text": invented}])
    )
    [node] = summaries_of(workspace)
    body = read_markdown(node.body_path, sha256=node.body_sha256)
    assert ATLAS_FACTS[0] in body
    assert invented not in body
    assert_clean(workspace)


def test_an_echo_of_a_key_never_gets_into_a_summary(
    workspace: Workspace, model: ScriptedModel
) -> None:
    def echoing(document: JSON) -> JSON:
        faithful = faithful_summary(document)
        first, second = faithful["bullets"]
        return faithful | {
            "title": f"Atlas {KEY}",
            "summary": f"The Atlas gateway has the key {KEY}.",
            "bullets": [first, {**second, "text": f"{second['text']} Key {KEY}"}],
            "labels": [KEY[:40]],
        }

    two_full_leaves(workspace, model, summary=reply(echoing))
    [node] = summaries_of(workspace)
    body = read_markdown(node.body_path, sha256=node.body_sha256)
    assert KEY[:20] not in f"{node.title} {node.summary} {node.labels} {body}"
    assert ATLAS_FACTS[0] in body
    assert_clean(workspace)

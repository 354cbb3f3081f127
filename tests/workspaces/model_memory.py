"""Reading and driving a memory whose chat model is scripted."""

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.openai_server import (
    Behaviour,
    answer,
    empty,
    filtered,
    garbage,
    huge,
    refused,
    says,
    truncated,
)
from tests.workspaces.memory import draft, drain, remember
from tests.workspaces.scripted_model import ScriptedModel, assignment, create
from workspaces.models.jobs import Job
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf

PORT = "The Atlas gateway listens on port 8443."
LOG = "The Atlas gateway writes its access log to /var/log/atlas."
ATLAS = "interaction:atlas"
UNCATEGORIZED = "interaction:uncategorized"

UNUSABLE: dict[str, Behaviour] = {
    "prose": garbage(),
    "a list": answer([assignment(), assignment()]),
    "a word": says("null"),
    "truncated": truncated(assignment()),
    "refusal": refused(),
    "content filter": filtered(),
    "empty": empty(),
    "white space": says(" \n\t "),
    "no content": says(None),
    "only reasoning": says("<think>It could be Atlas.</think>"),
    "5 MB": huge(),
    "broken JSON": says('{"action": "create_new", "new_entity": {'),
}


def make_due(workspace: Workspace) -> None:
    """As if the pause of every waiting job, and of every circuit, were over."""
    with system_scope():
        Job.objects.filter(workspace=workspace, state=Job.State.READY).update(
            next_try_at="2026-01-01T00:00:00Z"
        )
        workspace.circuits.exclude(opened_at=None).update(next_probe_at="2026-01-01T00:00:00Z")


def run_three_attempts(workspace: Workspace) -> None:
    for _ in range(3):
        make_due(workspace)
        drain(workspace)


def leaves_of(workspace: Workspace) -> list[SourceLeaf]:
    with workspace_scope(workspace, ALL_SCOPES):
        return list(workspace.leaves.select_related("tree", "entity").order_by("observed_at"))


def entity_names(workspace: Workspace) -> list[str]:
    with workspace_scope(workspace, ALL_SCOPES):
        return sorted(workspace.entities.filter(is_system=False).values_list("name", flat=True))


def know_atlas(workspace: Workspace, model: ScriptedModel) -> None:
    """One leaf in the tree of an entity called Atlas."""
    model.answers["assignment"] = create("Atlas", evidence="The Atlas gateway")
    [result] = remember(workspace, draft(PORT))
    assert [chunk.tree_key for chunk in result.chunks] == [ATLAS]

"""Chunks that are planned and committed together: what they share, and where they are parted."""

from collections.abc import Sequence
from typing import Any

import pytest

from holamem.database.scope import workspace_scope
from tests.verification import assert_clean
from tests.workspaces.memory import draft, principal_of, results_of
from workspaces.models.tenancy import Workspace
from workspaces.services import together
from workspaces.services.called import Said, called_in
from workspaces.services.claiming import Turns
from workspaces.services.holding import PlanChanged
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.known_leaves import Place, read_known
from workspaces.services.leaves import commit_leaves
from workspaces.services.worker import run_jobs

KNOWN = (
    "The Atlas gateway listens on port 8443.",
    "北京办公室的打印机在三楼走廊尽头。",
    "Priya Nair leads the Borealis warehouse project.",
)
SAID = (
    "The Atlas gateway was installed by Mara Lind.",
    "北京办公室的打印机每周一换纸。",
    "The Atlas gateway writes its logs to the Borealis archive.",
    "Priya Nair works from the Lisbon office on Fridays.",
)


def receive(workspace: Workspace, drafts: Sequence[EventDraft]) -> Any:
    principal = principal_of(workspace)
    return receive_events(workspace, drafts=list(drafts), principal=principal).event_ids


def run(workspace: Workspace) -> None:
    turns = Turns()
    while jobs := turns.claim():
        run_jobs(jobs)


def tell(workspace: Workspace, texts: Sequence[str], *, since: int = 0) -> list[str]:
    """The outcome of each; all of them are taken in one batch."""
    drafts = [draft(text, minutes=number) for number, text in enumerate(texts, since)]
    ids = receive(workspace, drafts)
    run(workspace)
    return [chunk.outcome for one in results_of(workspace, ids) for chunk in one.chunks]


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of the windows that were committed."""
    seen = list[int]()

    def watched(workspace: Workspace, *, plans: Any, jobs: Any) -> None:
        seen.append(len(plans))
        commit_leaves(workspace, plans=plans, jobs=jobs)

    monkeypatch.setattr(together, "commit_leaves", watched)
    return seen


def test_leaves_of_known_subjects_are_committed_together(
    workspace: Workspace, sizes: list[int]
) -> None:
    tell(workspace, KNOWN)
    sizes.clear()
    assert tell(workspace, SAID, since=10) == ["created"] * len(SAID)
    assert sizes == [len(SAID)]
    with workspace_scope(workspace):
        assert workspace.leaves.count() == len(KNOWN) + len(SAID)
    assert_clean(workspace)


def test_what_bears_on_a_leaf_of_the_window_sees_it_committed(workspace: Workspace) -> None:
    tell(workspace, KNOWN)
    told = [
        "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00.",
        SAID[1],
        "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00.",
        "The deployment window of the Atlas gateway is now Tuesday from 10:00 to 12:00.",
        "Atlas 网关的负责人是谁？",
    ]
    outcomes = tell(workspace, told, since=10)
    assert outcomes[:4] == ["created", "created", "noop_duplicate", "superseding"]
    with workspace_scope(workspace):
        [old] = workspace.leaves.filter(status="superseded")
        assert old.superseded_by is not None
        assert "Tuesday" in old.superseded_by.title
    assert_clean(workspace)


def test_a_window_that_is_refused_is_taken_one_by_one(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PlanChanged

    tell(workspace, KNOWN)
    monkeypatch.setattr(together, "commit_leaves", refuse)
    assert tell(workspace, SAID, since=10) == ["created"] * len(SAID)
    assert_clean(workspace)


def test_a_look_for_several_finds_what_each_alone_would(workspace: Workspace) -> None:
    tell(workspace, KNOWN)
    tell(workspace, SAID, since=10)
    said = [Said(text, "Mara") for text in (*SAID, "Does Atlas run hot?", "Nobody spoke.")]
    with workspace_scope(workspace):
        together_found, _ = called_in(workspace, scope_id=workspace.pk, said=said)
        for one, found in zip(said, together_found, strict=True):
            [alone], _ = called_in(workspace, scope_id=workspace.pk, said=[one])
            assert found == alone
        leaves = list(workspace.leaves.select_related("tree"))
        places = [Place(leaf.tree_id, leaf.fingerprint, leaf.subject_key, None) for leaf in leaves]
        known = read_known(workspace, scope_id=workspace.pk, places=places)
        for leaf, place, there in zip(leaves, places, known, strict=True):
            [alone_there] = read_known(workspace, scope_id=workspace.pk, places=[place])
            assert there == alone_there
            assert there.with_this_text(at=leaf.observed_at) == leaf.id

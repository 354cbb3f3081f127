"""An empty database and the body files give the same memory back."""

import json
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import Conflict
from retrieval.definitions import RetrieveRequest
from retrieval.retrieve import retrieve
from tests.verification import assert_clean
from tests.workspaces import corrections as people
from tests.workspaces.entities import remember_gateways
from tests.workspaces.memory import (
    ATLAS_FACTS,
    draft,
    drain,
    next_ready,
    principal_of,
    remember,
)
from tests.workspaces.rebuild.second import elsewhere, same_workspace, topology
from workspaces.models.tenancy import Workspace
from workspaces.services.entities.changes import add_alias, rename_entity
from workspaces.services.entities.merge import merge_entities
from workspaces.services.erasure.request import erase_leaf
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.jobs import claim_job
from workspaces.services.placement import NewEntityPlan
from workspaces.services.rebuild import from_bodies
from workspaces.services.rebuild.from_bodies import Rebuilt, rebuild_workspace
from workspaces.services.rebuild.workspace_files import Source, find_sources
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.services.worker import run_job

ATLAS = "interaction:atlas-gateway"
QUESTIONS = (
    "Which port does the Atlas gateway listen on?",
    "Where does Mara Lindqvist live?",
    "北京办公室的打印机在哪里？",
    "What is the state of issue 7?",
    "What is known about the Atlas gateway?",
)


def source_of(workspace: Workspace) -> Source:
    return Source(workspace.tenant.slug, workspace.slug)


def rebuild_there(workspace: Workspace, **options: bool) -> Rebuilt:
    """Rebuild, then do the work that the rebuild queued."""
    report = rebuild_workspace(source_of(workspace), **options)
    drain(same_workspace(workspace))
    return report


def answers(workspace: Workspace) -> list[str]:
    """What retrieval says, without what differs from one call to the next."""
    said = []
    for question in QUESTIONS:
        request = RetrieveRequest(query=question, reasoning="off")
        answer = retrieve(workspace, scopes=ALL_SCOPES, request=request).as_dict()
        kept = {name: answer[name] for name in ("retrieval_pack", "evidence") if name in answer}
        said.append(json.dumps(kept, default=str, ensure_ascii=False, sort_keys=True))
    return said


def memories() -> list[EventDraft]:
    return [
        *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:11])],
        draft("Mara Lindqvist lives in Lisbon.", minutes=30),
        draft("Mara Lindqvist lives in Porto.", minutes=40),
        draft("Mara Lindqvist lives in Faro.", minutes=20),
        draft("北京办公室的打印机在三楼走廊尽头。", minutes=41, metadata={"页": [1, 2.5, None]}),
        draft("I prefer tea over coffee.", minutes=42, user_id="u1", session="s1"),
        draft("我的猫叫汤圆。", minutes=43, user_id="用户二"),
        draft(
            "Issue 7: the build is broken.", kind="integration_record", provider="github",
            account="holaos/oss", external_id="7", source="github", minutes=44,
        ),
        draft(
            "Issue 7: the build is green again.", kind="integration_record", provider="github",
            account="holaos/oss", external_id="7", source="github", minutes=50,
        ),
    ]  # fmt: skip


@pytest.fixture
def grown() -> Workspace:
    workspace = create_workspace(
        create_tenant(slug=f"t-{uuid4().hex}", name="一个租户"),
        slug="grown",
        name="成长",
        settings={"seal_threshold": 3, "time_zone": "Asia/Shanghai"},
    )
    remember(workspace, *memories())
    return workspace


def leaf_that_says(workspace: Workspace, words: str) -> UUID:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.leaves.get(summary__contains=words, status="active").id


def correct_a_lot(workspace: Workspace) -> None:
    """Every kind of change that people make; the work that follows is done."""
    principal = principal_of(workspace)
    common = {"principal": principal, "scopes": ALL_SCOPES}
    people.correct(
        workspace, leaf_that_says(workspace, "8443"), "The Atlas gateway listens on port 9443."
    )
    drain(workspace)
    people.forget(workspace, leaf_that_says(workspace, "02:15"))
    taken = people.forget(workspace, leaf_that_says(workspace, "winter"))
    drain(workspace)
    people.undo(workspace, taken.audit_id)
    people.move(
        workspace,
        leaf_that_says(workspace, "Redis"),
        new=NewEntityPlan(type="system", name="限流服务"),
    )
    erase_leaf(workspace, leaf_id=leaf_that_says(workspace, "internal CA"), **common)
    drain(workspace)
    rename_entity(workspace, slug="mara-lindqvist", name="Mara Andersson", **common)
    add_alias(workspace, slug="atlas-gateway", alias="边缘网关", **common)
    drain(workspace)


def test_the_same_topology_and_the_same_answers_come_back(grown: Workspace, tmp_path: Path) -> None:
    before, said = topology(grown), answers(grown)
    assert {row[5] for row in before["leaves"]} == {"active", "superseded"}
    with elsewhere(grown, tmp_path):
        assert find_sources(tenant=grown.tenant.slug) == [source_of(grown)]
        report = rebuild_there(grown)
        again = same_workspace(grown)
        assert report.problems == []
        assert topology(again) == before
        assert answers(again) == said
        assert (again.name, again.settings) == (grown.name, grown.settings)
        assert (again.tenant.name, again.archived_at) == ("一个租户", None)
        assert_clean(again)


@pytest.mark.slow
def test_corrections_come_back_and_nothing_forgotten_does(grown: Workspace, tmp_path: Path) -> None:
    correct_a_lot(grown)
    before, said = topology(grown), answers(grown)
    assert {row[5] for row in before["leaves"]} == {"active", "superseded", "inactive", "erased"}
    with elsewhere(grown, tmp_path):
        report = rebuild_there(grown)
        again = same_workspace(grown)
        assert report.problems == []
        after = topology(again)
        assert_clean(again)
        assert answers(again) == said
        everything = "\n".join(said)
    assert after == before
    assert "internal CA" not in everything
    assert "02:15" not in everything


@pytest.mark.slow
def test_a_merge_comes_back(workspace: Workspace, tmp_path: Path) -> None:
    remember_gateways(workspace)
    merge_entities(
        workspace, principal=principal_of(workspace), scopes=ALL_SCOPES,
        slug="borealis-gateway", into="atlas-gateway",
    )  # fmt: skip
    drain(workspace)
    people_tree = topology(workspace)
    with elsewhere(workspace, tmp_path):
        assert rebuild_there(workspace).problems == []
        again = same_workspace(workspace)
        assert topology(again) == people_tree
        assert_clean(again)


@pytest.mark.slow
def test_what_is_sent_again_after_a_rebuild_doubles_nothing(
    grown: Workspace, tmp_path: Path
) -> None:
    with elsewhere(grown, tmp_path):
        rebuild_there(grown)
        again = same_workspace(grown)
        before = topology(again)["leaves"]
        remember(again, *memories())
        assert topology(again)["leaves"] == before
        assert_clean(again)


@pytest.mark.slow
def test_a_rebuild_that_stopped_goes_on_where_it_was(
    grown: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = topology(grown)
    written = []
    write_plan = from_bodies.write_plan

    def stop_after_two(*args: object, **values: object) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(1)
        write_plan(*args, **values)  # type: ignore[arg-type]

    with elsewhere(grown, tmp_path):
        with monkeypatch.context() as patch:
            patch.setattr(from_bodies, "write_plan", stop_after_two)
            with pytest.raises(KeyboardInterrupt):
                rebuild_workspace(source_of(grown))
        assert same_workspace(grown).archived_at is not None
        report = rebuild_there(grown)
        again = same_workspace(grown)
        assert (report.already, report.problems) == (2, [])
        assert topology(again) == before
        assert again.archived_at is None
        third = rebuild_there(grown)
        assert (third.trees, third.leaves) == (0, 0)
        assert topology(again) == before
        assert_clean(again)


def test_a_workspace_that_holds_memory_is_not_touched(grown: Workspace) -> None:
    before = topology(grown)
    with pytest.raises(Conflict):
        rebuild_workspace(source_of(grown))
    assert topology(grown) == before
    assert same_workspace(grown).archived_at is None


@pytest.mark.slow
def test_an_empty_workspace_of_the_same_name_takes_the_memory_in(
    grown: Workspace, tmp_path: Path
) -> None:
    before = topology(grown)
    with elsewhere(grown, tmp_path):
        tenant = create_tenant(slug=grown.tenant.slug, name="Made by the first start")
        empty = create_workspace(tenant, slug=grown.slug, name="Main")
        rebuild_there(grown)
        again = same_workspace(grown)
        assert again.pk != empty.pk
        assert topology(again) == before


@pytest.mark.slow
def test_a_tree_with_a_pass_still_to_come_loses_nothing(grown: Workspace, tmp_path: Path) -> None:
    """Leaves after the last pass have no place yet, and the sidecar does not know them."""
    with workspace_scope(grown, ALL_SCOPES):
        texts = set(grown.leaves.values_list("fingerprint", "status"))
    receive_events(
        grown,
        drafts=[draft("Mara Lindqvist lives in Oslo.", minutes=60)],
        principal=principal_of(grown),
    )
    claimed = claim_job(next_ready(grown))
    assert claimed is not None
    run_job(claimed)
    with elsewhere(grown, tmp_path):
        report = rebuild_there(grown)
        again = same_workspace(grown)
        assert report.problems == []
        with workspace_scope(again, ALL_SCOPES):
            now = again.leaves.filter(entity__slug="mara-lindqvist")
            assert now.get(status="active").summary == "Mara Lindqvist lives in Oslo."
            assert len(texts) + 1 == again.leaves.count()
        assert_clean(again)
    drain(grown)


def test_what_was_forgotten_a_moment_ago_does_not_come_back(
    workspace: Workspace, tmp_path: Path
) -> None:
    """The database is lost before any worker has passed over the tree again."""
    [leaf_id, *_] = people.remember_all(workspace, *ATLAS_FACTS[:3])
    people.forget(workspace, leaf_id)
    with elsewhere(workspace, tmp_path):
        rebuild_there(workspace)
        there = same_workspace(workspace)
        assert people.leaf_row(there, leaf_id).status == "inactive"
        assert people.leaf_row(there, leaf_id).forgotten_at is not None
        assert not [found for found in answers(there) if "8443" in found]
    drain(workspace)
    assert_clean(workspace)

"""An archive brings a workspace back elsewhere: the same memory, and nothing that was erased."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import Conflict
from holamem.ids import new_id
from tests.retrieval.asking import ask
from tests.verification import assert_clean
from tests.workspaces.erasing import erased
from tests.workspaces.memory import draft, drain, remember
from tests.workspaces.transfer.world import (
    ERASED,
    counted,
    empty_workspace,
    exported,
    full_workspace,
    imported,
    silent,
)
from workspaces.bodies import body_storage
from workspaces.models.tenancy import Workspace
from workspaces.services.quotas import QuotaReached, set_quotas
from workspaces.services.tenants import create_workspace
from workspaces.services.transfer.loading import import_archive
from workspaces.verify.run import broken_codes

QUESTIONS = [
    "When is the deployment window of the Atlas gateway?",
    "Who prefers tea?",
    "打印机在哪里？",
    "How do I restart the gateway?",
    "Which service does Maya Okafor own?",
]


@pytest.fixture(scope="module")
def source() -> Workspace:
    return full_workspace()


@pytest.fixture(scope="module")
def archive(source: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(source, tmp_path_factory.mktemp("archive"))


def answers(workspace: Workspace) -> list[object]:
    """What is said and what supports it, without ids."""
    found = []
    for question in QUESTIONS:
        answer = ask(workspace, question, user_id="u-1")
        evidence = [
            (item["title"], item["excerpt"], item["observed_at"], item["tree_key"])
            for item in answer["evidence"]
        ]
        known = [item["text"] for item in answer["retrieval_pack"]["known_facts"]]
        found.append((answer["coverage"]["level"], known, evidence))
    return found


def test_a_workspace_goes_into_another_one_of_the_same_server_and_answers_as_before(
    source: Workspace, archive: Path
) -> None:
    target = empty_workspace()
    before = answers(source)
    done = imported(target, archive)
    assert not done.kept_ids
    assert counted(target) == counted(source)
    assert answers(target) == before
    drain(target)
    assert_clean(target)
    assert_clean(source)


def test_what_was_erased_is_in_no_archive_and_does_not_come_back(
    source: Workspace, archive: Path
) -> None:
    with zipfile.ZipFile(archive) as packed:
        assert not any(ERASED.encode() in packed.read(name) for name in packed.namelist())
    target = empty_workspace()
    imported(target, archive)
    [again] = remember(target, draft(f"Maya Okafor's telephone number is {ERASED}.", minutes=72))
    assert [chunk.reason for chunk in again.chunks] == ["erased"]
    assert_clean(target)


@pytest.mark.slow
def test_memory_goes_on_in_its_new_place(archive: Path) -> None:
    target = empty_workspace()
    imported(target, archive)
    drain(target)
    remember(
        target,
        draft("The deployment window of the Atlas gateway is now Friday at noon.", minutes=90),
    )
    with workspace_scope(target, ALL_SCOPES):
        newest = target.leaves.get(title__contains="Friday")
        assert newest.supersedes_leaf is not None
        leaf = target.leaves.filter(status="active").exclude(id=newest.id).order_by("id")[0]
    erased(target, leaf.id)
    assert not body_storage().exists(leaf.body_path)
    assert_clean(target)


@pytest.mark.slow
def test_the_same_archive_may_be_imported_twice_and_each_copy_stands_alone(archive: Path) -> None:
    first, second = empty_workspace(), empty_workspace()
    imported(first, archive)
    imported(second, archive)
    with system_scope():
        ids = {leaf for w in (first, second) for leaf in w.leaves.values_list("id", flat=True)}
        assert len(ids) == first.leaves.count() + second.leaves.count()
        orders = [
            list(w.events.order_by("id").values_list("received_at", flat=True))
            for w in (first, second)
        ]
    assert orders[0] == orders[1]
    assert_clean(first)
    assert_clean(second)


@pytest.mark.slow
def test_a_copy_can_be_exported_and_imported_again(archive: Path, tmp_path: Path) -> None:
    first, second = empty_workspace(), empty_workspace()
    imported(first, archive)
    drain(first)
    before = answers(first)
    imported(second, exported(first, tmp_path))
    assert answers(second) == before
    assert_clean(second)


def test_a_workspace_that_holds_something_takes_no_archive(archive: Path) -> None:
    target = empty_workspace()
    remember(target, draft("Pavel Orlov prefers tea to coffee."))
    before = counted(target)
    with pytest.raises(Conflict, match="empty workspace"):
        imported(target, archive)
    assert counted(target) == before
    assert_clean(target)


def test_an_archive_from_before_an_erasure_is_refused_where_the_erasure_is_known(
    tmp_path: Path,
) -> None:
    origin = empty_workspace("origin")
    [told] = remember(origin, draft("Pavel Orlov prefers tea to coffee."))
    old = exported(origin, tmp_path)
    leaf_id = told.chunks[0].leaf_id
    assert isinstance(leaf_id, UUID)
    erased(origin, leaf_id)
    target = create_workspace(origin.tenant, slug="again", name="Again")
    with pytest.raises(Conflict, match="erased since"):
        imported(target, old)
    assert counted(target)["leaves"] == []


def test_an_import_keeps_to_the_quotas_of_its_tenant(archive: Path) -> None:
    target = empty_workspace()
    set_quotas(target.tenant, quotas={"leaves": 2})
    with pytest.raises(QuotaReached):
        imported(target, archive)
    assert counted(target)["leaves"] == []


def test_an_import_that_fails_leaves_nothing(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = empty_workspace()

    def refuse() -> None:
        raise Conflict("The lease is lost.")

    with pytest.raises(Conflict):
        imported_with(target, archive, refuse)
    assert counted(target) == counted(empty_workspace())
    root = f"{target.tenant.slug}/{target.slug}/memory"
    assert files_below(root) == []


def imported_with(target: Workspace, archive: Path, in_step: Callable[[], None]) -> None:
    import_archive(
        target,
        path=archive,
        seed=new_id(),
        verify=broken_codes,
        in_step=in_step,
        on_progress=silent,
    )


def files_below(folder: str) -> list[str]:
    try:
        folders, names = body_storage().listdir(folder)
    except FileNotFoundError:
        return []
    below = [name for inner in folders for name in files_below(f"{folder}/{inner}")]
    return [*(f"{folder}/{name}" for name in names), *below]

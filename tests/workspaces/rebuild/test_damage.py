"""Files that cannot be trusted are left out and named; what was forgotten stays away."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import yaml

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import InvalidInput
from tests.verification import assert_clean
from tests.workspaces import corrections as people
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, principal_of, remember
from tests.workspaces.rebuild.forging import body_of, forged
from tests.workspaces.rebuild.second import elsewhere, same_workspace
from workspaces.models.tenancy import Workspace
from workspaces.services.erasure.request import erase_leaf
from workspaces.services.rebuild.from_bodies import Rebuilt, rebuild_workspace
from workspaces.services.rebuild.workspace_files import Source
from workspaces.services.tenants import create_tenant, create_workspace

pytestmark = pytest.mark.slow  # a database of its own for each damage

FORGOTTEN = "The Atlas gateway was rewritten in Go during the winter."
ERASED = "Rate limits of the Atlas gateway live in Redis."


@pytest.fixture(scope="module")
def memory(django_db_setup: None) -> Workspace:
    """Two heights of one tree, a forgotten and an erased leaf, and one that was replaced."""
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
    workspace = create_workspace(tenant, slug="w", name="W", settings={"seal_threshold": 3})
    facts = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:11])]
    remember(workspace, *facts, draft("Mara Lindqvist lives in Lisbon.", minutes=30))
    remember(workspace, draft("Mara Lindqvist lives in Porto.", minutes=40))
    people.forget(workspace, leaf_of(workspace, FORGOTTEN))
    erase_leaf(
        workspace,
        principal=principal_of(workspace),
        scopes=ALL_SCOPES,
        leaf_id=leaf_of(workspace, ERASED),
    )
    drain(workspace)
    return workspace


def leaf_of(workspace: Workspace, text: str) -> UUID:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.leaves.get(summary=text).id


@pytest.fixture
def copy(memory: Workspace, tmp_path: Path) -> Iterator[Path]:
    """The memory folder of the workspace in the copy, the empty database behind it."""
    with elsewhere(memory, tmp_path) as root:
        yield root / memory.tenant.slug / memory.slug


def rebuild(workspace: Workspace, **options: bool) -> Rebuilt:
    report = rebuild_workspace(Source(workspace.tenant.slug, workspace.slug), **options)
    drain(same_workspace(workspace))
    return report


def reasons(report: Rebuilt) -> dict[str, str]:
    return {problem.path.rsplit("/memory/", 1)[-1]: problem.reason for problem in report.problems}


def statuses(workspace: Workspace) -> dict[str, str]:
    with workspace_scope(workspace, ALL_SCOPES):
        return {leaf.summary: leaf.status for leaf in workspace.leaves.all()}


def test_the_undamaged_copy_is_taken_in_whole(memory: Workspace, copy: Path) -> None:
    report = rebuild(memory)
    assert report.problems == []
    found = statuses(same_workspace(memory))
    assert found[FORGOTTEN] == "inactive"
    assert found[""] == "erased"
    assert ERASED not in found
    assert_clean(same_workspace(memory))


def test_a_changed_text_is_noticed(memory: Workspace, copy: Path) -> None:
    path = body_of(copy, ATLAS_FACTS[0])
    path.write_text(path.read_text().replace("8443", "9999"))
    report = rebuild(memory)
    assert "checksum" in reasons(report)[str(path).rsplit("/memory/", 1)[-1]]
    again = same_workspace(memory)
    assert not [text for text in statuses(again) if "9999" in text or "8443" in text]
    assert_clean(again)
    with workspace_scope(again, ALL_SCOPES):
        # No summary speaks of a leaf that is not there.
        leaves = set(again.leaves.values_list("id", flat=True))
        for node in again.summaries.filter(child_kind="leaf"):
            assert set(node.child_ids) <= leaves


def test_a_damaged_summary_is_written_again(memory: Workspace, copy: Path) -> None:
    # A node that moved or was replaced has a second file for a while.
    files = Counter(path.name for path in copy.rglob("summaries/*/*.md"))
    damaged = next(path for path in copy.rglob("summaries/L1/*.md") if files[path.name] == 1)
    damaged.write_text(damaged.read_text() + "- Atlas was sold. [nowhere]\n")
    report = rebuild(memory)
    again = same_workspace(memory)
    assert len(report.problems) >= 1
    with workspace_scope(again, ALL_SCOPES):
        assert not again.summaries.filter(id=damaged.stem).exists()
        assert again.trees.get(key="interaction:atlas-gateway").root_id is not None
        assert again.leaves.filter(status="active").count() == 10
    assert_clean(again)


def test_a_file_copied_under_another_name_makes_no_second_leaf(
    memory: Workspace, copy: Path
) -> None:
    path = body_of(copy, ATLAS_FACTS[5])
    path.with_name("01890000-0000-7000-8000-000000000000.md").write_bytes(path.read_bytes())
    report = rebuild(memory)
    assert len(report.problems) == 1
    assert list(statuses(same_workspace(memory))).count(ATLAS_FACTS[5]) == 1
    assert_clean(same_workspace(memory))


def test_a_tree_without_its_sidecar_stays_away_unless_asked_for(
    memory: Workspace, copy: Path
) -> None:
    sidecar = copy / "memory/interaction/atlas-gateway/tree.yaml"
    sidecar.unlink()
    report = rebuild(memory)
    assert "left out" in reasons(report)["interaction/atlas-gateway/tree.yaml"]
    again = same_workspace(memory)
    assert set(statuses(again)) == {
        "Mara Lindqvist lives in Lisbon.",
        "Mara Lindqvist lives in Porto.",
    }
    assert_clean(again)
    report = rebuild(memory, without_sidecars=True)
    assert (report.already, report.trees) == (1, 1)
    found = statuses(again)
    assert found[ATLAS_FACTS[0]] == "active"
    assert ERASED not in found  # the record of erasures lies elsewhere
    assert_clean(again)


def test_the_file_of_an_erased_leaf_that_came_back_is_not_read(
    memory: Workspace, copy: Path
) -> None:
    """From a backup of files that is older than the erasure."""
    path = body_of(copy, ATLAS_FACTS[0])
    sidecar = yaml.safe_load((path.parent.parent / "tree.yaml").read_text())
    erased = next(leaf for leaf in sidecar["leaves"] if leaf["status"] == "erased")
    head = {"id": erased["id"], "fingerprint": erased["tombstone"]["fingerprint"]}
    returned = path.with_name(f"{erased['id']}.md")
    returned.write_text(forged(path, head, text=ERASED))
    rebuild(memory)
    again = same_workspace(memory)
    assert ERASED not in statuses(again)
    with workspace_scope(again, ALL_SCOPES):
        assert again.leaves.get(id=erased["id"]).status == "erased"
    assert not returned.exists()
    assert_clean(again)


def test_an_erasure_that_cannot_be_read_is_not_passed_over(memory: Workspace, copy: Path) -> None:
    entry = next((copy / "erasures").glob("*.json"))
    good = entry.read_bytes()
    entry.write_text("{")
    with pytest.raises(InvalidInput):
        rebuild_workspace(Source(memory.tenant.slug, memory.slug))
    assert same_workspace(memory).archived_at is not None
    entry.write_bytes(good)
    rebuild(memory)
    assert same_workspace(memory).archived_at is None
    assert_clean(same_workspace(memory))


def test_without_the_file_of_the_workspace_the_trees_name_it(memory: Workspace, copy: Path) -> None:
    (copy / "workspace.yaml").unlink()
    report = rebuild(memory)
    again = same_workspace(memory)
    assert (again.slug, again.settings) == (memory.slug, {})
    assert len(report.problems) == 1
    assert statuses(again)[ATLAS_FACTS[0]] == "active"


def test_what_a_killed_worker_left_behind_becomes_no_leaf(memory: Workspace, copy: Path) -> None:
    """The file of a chunk whose leaf was written once more under another id."""
    path = body_of(copy, ATLAS_FACTS[0])
    garbage = path.with_name("01890000-0000-7000-8000-000000000001.md")
    garbage.write_text(forged(path, {"id": garbage.stem}))
    report = rebuild(memory)
    assert [Path(problem.path).name for problem in report.problems] == [garbage.name]
    assert list(statuses(same_workspace(memory))).count(ATLAS_FACTS[0]) == 1
    assert_clean(same_workspace(memory))

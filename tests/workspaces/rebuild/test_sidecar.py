"""The sidecar of a tree follows its state, at the price of one statement when nothing changed."""

from pathlib import Path
from uuid import UUID

import pytest
import yaml
from django.core.files.base import ContentFile
from django.db import connection

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.sampling import sampled
from tests.verification import assert_clean
from tests.workspaces import corrections as people
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from tests.workspaces.rebuild.second import bodies_root
from workspaces.bodies import body_storage
from workspaces.body_paths import scope_directory
from workspaces.models.tenancy import Workspace
from workspaces.services.rebuild import sidecar as sidecars
from workspaces.services.rebuild.sidecar import mirror_tree, sidecar_path
from workspaces.services.tenants import update_workspace
from workspaces.verify.repair import repair_workspace
from workspaces.verify.run import verify_workspace


@pytest.fixture
def memory(workspace: Workspace) -> Workspace:
    changed = update_workspace(workspace, settings={"seal_threshold": 3})
    remember(changed, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:4])])
    return changed


def tree_of(workspace: Workspace) -> tuple[UUID, UUID, Path]:
    with workspace_scope(workspace, ALL_SCOPES):
        tree = workspace.trees.get(key="interaction:atlas-gateway")
    path = bodies_root() / sidecar_path(scope_directory(workspace, tree=tree))
    return tree.id, tree.scope_id, path


def codes(workspace: Workspace) -> list[str]:
    return [finding.code for finding in verify_workspace(workspace)]


def test_it_is_written_by_the_pass_over_the_tree(memory: Workspace) -> None:
    tree_id, _, path = tree_of(memory)
    written = yaml.safe_load(path.read_text())
    with workspace_scope(memory, ALL_SCOPES):
        tree = memory.trees.get(id=tree_id)
        buffer = memory.leaves.filter(tree=tree, parent=None)
        assert written["tree"]["root"] == str(tree.root_id)
        assert written["buffer"] == [str(leaf.id) for leaf in buffer]
    assert written["entity"]["slug"] == "atlas-gateway"
    assert (written["leaves"], path.stat().st_mode & 0o777) == ([], 0o600)


def test_no_memory_text_stands_in_it(memory: Workspace) -> None:
    with workspace_scope(memory, ALL_SCOPES):
        leaf = memory.leaves.order_by("observed_at").first()
    assert leaf is not None
    people.forget(memory, leaf.id)
    drain(memory)
    text = tree_of(memory)[2].read_text()
    assert str(leaf.id) in text
    assert "port 8443" not in text


def test_a_leaf_in_the_buffer_writes_nothing(memory: Workspace) -> None:
    path = tree_of(memory)[2]
    before = path.stat().st_ino
    remember(memory, draft(ATLAS_FACTS[4], minutes=9))
    assert path.stat().st_ino == before
    remember(memory, draft(ATLAS_FACTS[5], minutes=10))  # the second summary, and a new root
    assert path.stat().st_ino != before


def test_an_unchanged_tree_costs_one_statement(memory: Workspace) -> None:
    tree_id, scope_id, _ = tree_of(memory)
    statements: list[str] = []

    def count(execute: object, sql: str, *rest: object) -> object:
        statements.append(sql)
        return execute(sql, *rest)  # type: ignore[operator]

    with connection.execute_wrapper(count):
        assert mirror_tree(memory, tree_id=tree_id, scope_id=scope_id) is False
    assert len([sql for sql in statements if "set_config" not in sql]) == 1


def test_a_change_during_the_write_is_written_too(
    memory: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writers may race; the one that writes last has read last."""
    tree_id, scope_id, path = tree_of(memory)
    with system_scope():
        memory.trees.filter(id=tree_id).update(title="First")
    write = sidecars._write
    titles = iter(["Second"])

    def write_and_change(*args: object, **values: object) -> None:
        write(*args, **values)  # type: ignore[arg-type]
        for title in titles:
            with system_scope():
                memory.trees.filter(id=tree_id).update(title=title)

    monkeypatch.setattr(sidecars, "_write", write_and_change)
    assert mirror_tree(memory, tree_id=tree_id, scope_id=scope_id) is True
    assert yaml.safe_load(path.read_text())["tree"]["title"] == "Second"
    with system_scope():
        memory.trees.filter(id=tree_id).update(title="Atlas gateway")
    mirror_tree(memory, tree_id=tree_id, scope_id=scope_id)
    assert_clean(memory)


def test_what_is_forgotten_is_mirrored_while_the_judge_is_out(
    memory: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holamem.errors import ProviderError
    from workspaces.services import seal_files

    def out(*args: object, **values: object) -> object:
        raise ProviderError("out", retryable=True)

    with workspace_scope(memory, ALL_SCOPES):
        leaf = memory.leaves.order_by("observed_at").first()
    assert leaf is not None
    with monkeypatch.context() as patch:
        patch.setattr(seal_files, "draft_summary", out)
        people.forget(memory, leaf.id)
        drain(memory)
        written = yaml.safe_load(tree_of(memory)[2].read_text())
        assert [state["status"] for state in written["leaves"]] == ["inactive"]
        assert {top["withheld"] for top in written["tops"]} == {True}
    with system_scope():
        memory.jobs.filter(state="ready").update(next_try_at="2026-01-01T00:00:00Z")
    drain(memory)
    assert_clean(memory)


@pytest.mark.parametrize("damage", sampled(["lost", "changed", "older"], fast=("older",)))
def test_verify_notices_and_mends_a_sidecar(memory: Workspace, damage: str) -> None:
    tree_id, _, path = tree_of(memory)
    older = path.read_bytes()
    with workspace_scope(memory, ALL_SCOPES):
        leaf = memory.leaves.filter(tree=tree_id).order_by("observed_at").first()
    assert leaf is not None
    people.forget(memory, leaf.id)
    drain(memory)
    relative = str(path.relative_to(bodies_root()))
    if damage == "lost":
        path.unlink()
    elif damage == "changed":
        path.write_text(path.read_text().replace("inactive", "active"))
    else:
        body_storage().save(relative, ContentFile(older))
    findings = verify_workspace(memory)
    assert [finding.code for finding in findings] == ["B9"]
    assert repair_workspace(memory, findings=findings) == findings
    assert codes(memory) == []


def test_verify_notices_and_mends_the_file_of_the_workspace(memory: Workspace) -> None:
    path = bodies_root() / memory.tenant.slug / memory.slug / "workspace.yaml"
    path.write_text("name: another\n")
    findings = verify_workspace(memory)
    assert [finding.object for finding in findings] == [f"workspace:{memory.pk}"]
    repair_workspace(memory, findings=findings)
    assert codes(memory) == []


def test_new_settings_are_mirrored_at_once(memory: Workspace) -> None:
    update_workspace(memory, name="另一个名字", settings={"retention_days": 7})
    path = bodies_root() / memory.tenant.slug / memory.slug / "workspace.yaml"
    written = yaml.safe_load(path.read_text())["workspace"]
    assert written["name"] == "另一个名字"
    assert written["settings"] == {"seal_threshold": 3, "retention_days": 7}

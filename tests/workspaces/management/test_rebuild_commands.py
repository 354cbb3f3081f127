"""The commands that bring memory back or in: one line of JSON, exit codes, and words."""

from pathlib import Path

import pytest
from django.core.management.base import CommandError

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.workspaces.management.test_commands import run, said
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from tests.workspaces.rebuild.forging import body_of
from tests.workspaces.rebuild.second import elsewhere, same_workspace, topology
from workspaces.models.tenancy import Workspace


def chosen(workspace: Workspace) -> tuple[str, ...]:
    return ("--tenant", workspace.tenant.slug, "--workspace", workspace.slug)


def test_rebuild_from_bodies_counts_and_names_what_was_left_out(
    workspace: Workspace, tmp_path: Path
) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:9])])
    before = topology(workspace)
    with pytest.raises(CommandError) as refused:
        run("rebuild_from_bodies", *chosen(workspace))
    assert refused.value.returncode == 2
    with elsewhere(workspace, tmp_path) as root:
        code, answer = run("rebuild_from_bodies", *chosen(workspace))
        drain(same_workspace(workspace))
        report = answer["workspaces"][0]
        assert (code, report["leaves"], report["summaries"], report["problems"]) == (0, 9, 1, [])
        assert topology(same_workspace(workspace)) == before
        assert run("rebuild_from_bodies", *chosen(workspace))[1]["workspaces"][0]["already"] == 1
    with elsewhere(workspace, tmp_path / "again") as root:
        damaged = body_of(root, ATLAS_FACTS[0])
        damaged.write_bytes(b"rubbish")
        code, answer = run("rebuild_from_bodies", *chosen(workspace))
        named = [problem["path"] for problem in answer["workspaces"][0]["problems"]]
        assert code == 1
        assert [path for path in named if path.endswith(damaged.name)]


def test_rebuild_from_bodies_of_nothing_is_refused() -> None:
    with pytest.raises(CommandError) as refused:
        run("rebuild_from_bodies", "--tenant", "nobody-at-all")
    assert refused.value.returncode == 2


def test_rebuild_tree_queues_the_summaries(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:9])])
    with workspace_scope(workspace, ALL_SCOPES):
        before = workspace.summaries.get()
    code, answer = run("rebuild_tree", "interaction:atlas-gateway", *chosen(workspace))
    assert (code, answer["summaries"]) == (0, 1)
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.summaries.exclude(status="retired").get().id != before.id
    assert "1 summaries" in said("rebuild_tree", "interaction:atlas-gateway", *chosen(workspace))
    drain(workspace)


def test_rebuild_tree_of_an_unknown_tree_or_person_is_refused(workspace: Workspace) -> None:
    remember(workspace, draft(ATLAS_FACTS[0]))
    for more in ((), ("--user-id", "nobody")):
        with pytest.raises(CommandError) as refused:
            run("rebuild_tree", "interaction:nothing", *chosen(workspace), *more)
        assert refused.value.returncode == 2


def test_import_legacy_says_what_it_took_in(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    (tmp_path / "MEMORY.md").write_text("- [a](shards/a.md) — 甲\n\n## 备注\n\n打印机在大厅。\n")
    (tmp_path / "shards/a.md").write_text("The Atlas gateway listens on port 8443.\n")
    folder = str(tmp_path)
    code, dry = run("import_legacy", folder, *chosen(workspace), "--dry-run")
    assert (code, dry["new"], dry["dry_run"]) == (0, 2, True)
    code, answer = run("import_legacy", folder, *chosen(workspace))
    assert (code, answer["new"], answer["known"]) == (0, 2, 0)
    drain(workspace)
    (tmp_path / "shards/a.md").write_text("The Atlas gateway listens on port 9443.\n")
    code, again = run("import_legacy", folder, *chosen(workspace))
    assert (code, again["new"], again["known"], again["changed"]) == (1, 0, 1, 1)
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.leaves.count() == 2


def test_import_legacy_of_no_folder_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(CommandError) as refused:
        run("import_legacy", str(tmp_path / "nowhere"), *chosen(workspace))
    assert refused.value.returncode == 2

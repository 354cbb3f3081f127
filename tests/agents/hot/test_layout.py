"""The older layout of text memory and history: in, out, and in again."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from agents.hot.history import list_history, verify_chain
from agents.hot.layout import export_layout, import_layout
from agents.hot.text_memory import get_text_memory, list_text_memories
from holamem.errors import InvalidInput
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old" / "shards").mkdir(parents=True)
    old = tmp_path / "old"
    (old / "INDEX.md").write_text(
        "# Index\n- [grafana](shards/grafana.md) — Grafana 在 monitor.internal:3000\n"
    )
    (old / "HISTORY.md").write_text("2026-01-01 saved grafana\n")
    (old / "shards" / "grafana.md").write_text("Grafana 在 monitor.internal:3000。\n")
    (old / "shards" / "部署.md").write_text("# 服务部署\r\n用 kubectl。\r\n")
    (old / "shards" / "broken.md").write_bytes(b"\xff\xfe")
    (old / "shards" / "link.md").symlink_to("/etc/hostname")
    return old


def test_an_older_layout_becomes_text_memory_and_its_log_history_only(
    workspace: Workspace, folder: Path
) -> None:
    dry = import_layout(workspace, scope_id=workspace.pk, folder=folder, is_dry_run=True)
    assert list_text_memories(workspace, scopes=None) == []
    report = import_layout(workspace, scope_id=workspace.pk, folder=folder)
    assert report.saved == dry.saved == ["grafana", "部署"]
    assert [name for name, _ in report.refused] == ["broken.md"]
    index = get_text_memory(workspace, scopes=None, scope_id=workspace.pk, kind="index").content
    assert index == (
        "- [grafana](topics/grafana.md) — Grafana 在 monitor.internal:3000\n"
        "- [部署](topics/部署.md) — 服务部署\n"
    )
    again = import_layout(workspace, scope_id=workspace.pk, folder=folder)
    assert (again.saved, sorted(again.known), again.history_entries) == (
        [],
        ["grafana", "部署"],
        0,
    )
    raw = [e for e in list_history(workspace, scopes=None) if e.kind == "history.imported"]
    assert [entry.payload["text"] for entry in raw] == ["2026-01-01 saved grafana\n"]
    assert verify_chain(workspace) == []
    assert_clean(workspace)


def test_exported_text_memory_is_what_an_import_takes(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    import_layout(workspace, scope_id=workspace.pk, folder=folder)
    out = tmp_path / "new"
    assert export_layout(workspace, scope_id=workspace.pk, folder=out) == 4
    assert (out / "shards" / "grafana.md").read_text() == "Grafana 在 monitor.internal:3000。\n"
    assert "](shards/grafana.md)" in (out / "INDEX.md").read_text()
    assert "text_memory.saved" in (out / "HISTORY.md").read_text()
    assert import_layout(workspace, scope_id=workspace.pk, folder=out).saved == []
    with pytest.raises(InvalidInput):
        export_layout(workspace, scope_id=workspace.pk, folder=out)


def test_the_command_brings_text_memory_in_and_out(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    where = ["--tenant", workspace.tenant.slug, "--workspace", workspace.slug]
    said = StringIO()
    call_command("text_memory", "import", str(folder), *where, stdout=said)
    call_command("text_memory", "export", str(tmp_path / "out"), *where, stdout=said)
    assert "2 topics saved, 0 known, 1 left out, 1 history entries." in said.getvalue()
    assert "4 files were written." in said.getvalue()
    with pytest.raises(CommandError):
        call_command("text_memory", "import", str(tmp_path / "none"), *where)
    with pytest.raises(CommandError):
        call_command("text_memory", "import", str(folder), *where, "--user-id", "nobody")

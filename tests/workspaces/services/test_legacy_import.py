"""A folder of the old layout becomes events: what is content, when it was written, and once."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import InvalidInput
from tests.workspaces.memory import drain
from workspaces.models.log import Event
from workspaces.models.tenancy import Workspace
from workspaces.services.legacy_import.importing import LegacyImport, import_folder
from workspaces.services.tenants import update_workspace

MEMORY_MD = """# Memory

- [grafana](shards/grafana.md) — Grafana 在 monitor.internal:3000
- [deployment](shards/deployment.md) — 服务部署用 kubectl
* `shards/general.md`: the rest
- [[shards/people]]
1. shards/people.md

| topic | what |
|---|---|
| [grafana](shards/grafana.md) | dashboards |

## About the user

Mara works in Lisbon. See [the office](shards/office.md) for the address.

## 偏好

- 回答用中文
- 喜欢简短的说明

```sh
- [not a pointer](shards/code.md)
# not a heading
```
"""
GRAFANA_MD = """---
updated: 2026-03-01
tags: [monitoring]
---
The interface listens on port 3000.

## Dashboards

| name | owner |
|------|-------|
| Edge Overview | platform |

## 告警 (2026-04-02)

CPU 超过八成就通知值班。

### Channel

On-call is paged through Opsgenie.

## Dashboards

A second section of the same name.
"""
DAILY_MD = """# 2026-05-20

## 09:30 Standup

Atlas moves to Go 1.26.

<!-- nothing -->

## 2026年5月21日 复盘

灰度发布出了问题。
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "MEMORY.md": MEMORY_MD,
        "HISTORY.md": "user: the raw log is no content\n",
        "history/HISTORY-2025.md": "nor is this\n",
        "shards/grafana.md": GRAFANA_MD,
        "shards/general.md": "The office is closed on Fridays.\n",
        "memory/2026-05-20.md": DAILY_MD,
        ".git/notes.md": "hidden\n",
        "notes.txt": "no markdown\n",
        "shards/empty.md": "# Only a title\n\n---\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    general = datetime(2026, 2, 3, 4, 5, tzinfo=UTC).timestamp()
    os.utime(tmp_path / "shards/general.md", (general, general))
    return tmp_path


def stored(workspace: Workspace) -> dict[str, Event]:
    with workspace_scope(workspace, ALL_SCOPES):
        return {event.external_id: event for event in workspace.events.all()}


def test_sections_become_events_and_index_lines_do_not(workspace: Workspace, folder: Path) -> None:
    report = import_folder(workspace, folder=folder)
    events = stored(workspace)
    assert sorted(events) == [
        "MEMORY.md#memory/about-the-user",
        "MEMORY.md#memory/偏好",
        "memory/2026-05-20.md#2026-05-20/09-30-standup",
        "memory/2026-05-20.md#2026-05-20/2026年5月21日复盘",
        "shards/general.md#",
        "shards/grafana.md#",
        "shards/grafana.md#dashboards",
        "shards/grafana.md#dashboards-2",
        "shards/grafana.md#告警2026-04-02",
        "shards/grafana.md#告警2026-04-02/channel",
    ]
    assert (report.files, report.new, report.refused) == (5, 10, [])
    everything = "\n".join(event.payload_text for event in events.values())
    assert "raw log" not in everything
    assert "monitor.internal" not in everything
    assert "[the office](shards/office.md)" in everything
    assert {event.source for event in events.values()} == {"legacy"}
    assert {event.admission_mode for event in events.values()} == {"accepted"}


def test_tables_code_and_headings_stay_with_their_section(
    workspace: Workspace, folder: Path
) -> None:
    import_folder(workspace, folder=folder)
    events = stored(workspace)
    assert events["shards/grafana.md#dashboards"].payload_text == (
        "# grafana\n\n## Dashboards\n\n| name | owner |\n|------|-------|\n"
        "| Edge Overview | platform |"
    )
    preferences = events["MEMORY.md#memory/偏好"].payload_text
    assert "- [not a pointer](shards/code.md)\n# not a heading" in preferences
    channel = events["shards/grafana.md#告警2026-04-02/channel"].payload_text
    assert channel.startswith("# grafana\n\n## 告警 (2026-04-02)\n### Channel\n\n")


def test_each_section_is_dated_by_what_stands_closest(workspace: Workspace, folder: Path) -> None:
    update_workspace(workspace, settings={"time_zone": "Asia/Shanghai"})
    import_folder(workspace_again(workspace), folder=folder)
    found = {
        name: event.occurred_at.astimezone(UTC).isoformat()[:16]
        for name, event in stored(workspace).items()
        if event.occurred_at
    }
    assert found["shards/grafana.md#dashboards"] == "2026-02-28T16:00"
    assert found["shards/grafana.md#告警2026-04-02"] == "2026-04-01T16:00"
    assert found["shards/grafana.md#告警2026-04-02/channel"] == "2026-04-01T16:00"
    assert found["memory/2026-05-20.md#2026-05-20/09-30-standup"] == "2026-05-19T16:00"
    assert found["memory/2026-05-20.md#2026-05-20/2026年5月21日复盘"] == "2026-05-20T16:00"
    assert found["shards/general.md#"] == "2026-02-03T04:05"


def workspace_again(workspace: Workspace) -> Workspace:
    from tests.workspaces.rebuild.second import same_workspace

    return same_workspace(workspace)


def test_kinds_follow_what_a_section_is(workspace: Workspace, folder: Path) -> None:
    import_folder(workspace, folder=folder)
    kinds = {name: event.kind for name, event in stored(workspace).items()}
    assert kinds["MEMORY.md#memory/偏好"] == "accepted_preference"
    assert kinds["MEMORY.md#memory/about-the-user"] == "accepted_identity"
    assert kinds["memory/2026-05-20.md#2026-05-20/09-30-standup"] == "user_message"
    assert kinds["shards/general.md#"] == "distilled_statement"


def test_a_second_run_adds_nothing_and_names_what_changed(
    workspace: Workspace, folder: Path
) -> None:
    import_folder(workspace, folder=folder)
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        leaves = workspace.leaves.count()
    assert leaves > 0
    (folder / "shards/general.md").write_text("The office is closed on Mondays.\n")
    (folder / "shards/new.md").write_text("The printer stands in the hall.\n")
    again = import_folder(workspace, folder=folder)
    drain(workspace)
    assert (again.new, again.known, again.changed) == (1, 9, 1)
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.events.count() == 11
        assert workspace.leaves.count() == leaves + 1


def test_a_dry_run_writes_nothing(workspace: Workspace, folder: Path) -> None:
    report = import_folder(workspace, folder=folder, dry_run=True)
    assert (report.new, len(report.sections)) == (10, 10)
    assert stored(workspace) == {}


def test_memory_of_one_person_is_private(workspace: Workspace, folder: Path) -> None:
    import_folder(workspace, folder=folder, user_id="u1", source="legacy u1")
    with workspace_scope(workspace, ALL_SCOPES):
        scope = workspace.end_users.get(ref="u1").id
        assert set(workspace.events.values_list("scope_id", flat=True)) == {scope}


def refused_of(report: LegacyImport) -> dict[str, str]:
    return dict(report.refused)


def test_what_cannot_be_read_is_named_and_stops_nothing(workspace: Workspace, folder: Path) -> None:
    (folder / "shards/gbk.md").write_bytes("办公室周五关门。".encode("gbk"))
    (folder / "shards/utf16.md").write_bytes("打印机在大厅。".encode("utf-16"))
    (folder / "shards/nul.md").write_bytes(b"a\0b")
    (folder / "shards/link.md").symlink_to(folder / "notes.txt")
    (folder / "shards/loop").symlink_to(folder)
    report = import_folder(workspace, folder=folder)
    assert set(refused_of(report)) == {"shards/gbk.md", "shards/nul.md", "shards/link.md"}
    assert report.new == 11
    assert "打印机" in stored(workspace)["shards/utf16.md#"].payload_text


def test_secrets_are_masked(workspace: Workspace, folder: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    (folder / "shards/keys.md").write_text(f"The token is {secret}.\n")
    import_folder(workspace, folder=folder)
    assert secret not in stored(workspace)["shards/keys.md#"].payload_text


def test_a_plan_for_a_day_to_come_was_not_written_then(workspace: Workspace, folder: Path) -> None:
    (folder / "shards/plan.md").write_text("## 2999-01-01\n\nThe contract ends.\n")
    import_folder(workspace, folder=folder)
    found = stored(workspace)["shards/plan.md#2999-01-01"].occurred_at
    assert found is not None
    assert found.year < 2999


@pytest.mark.slow
def test_a_very_long_section_comes_in_parts(workspace: Workspace, folder: Path) -> None:
    paragraphs = [f"Paragraph {n}. " + "words " * 2000 for n in range(60)]
    (folder / "shards/long.md").write_text("\n\n".join(paragraphs))
    report = import_folder(workspace, folder=folder, dry_run=True)
    parts = [line for line in report.sections if line.external_id.startswith("shards/long.md")]
    assert [line.external_id for line in parts] == ["shards/long.md#", "shards/long.md#~2"]
    assert report.refused == []


def test_what_is_no_folder_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        import_folder(workspace, folder=tmp_path / "nowhere")

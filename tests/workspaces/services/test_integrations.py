"""Connectors: passes over a folder become revisions and deletions, once each."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.sampling import sampled
from tests.verification import assert_clean
from tests.workspaces.connectors.folders import MAY, write
from tests.workspaces.connectors.passes import WHERE, ask, connect, counts, events, synchronise
from tests.workspaces.memory import drain, principal_of, unfinished_jobs
from tests.workspaces.services.test_revisions import current
from workspaces.models.tenancy import Workspace
from workspaces.services.corrections.forget import forget_leaf
from workspaces.services.integrations.connectors import (
    get_connector,
)


def test_a_folder_becomes_the_tree_of_its_provider_and_account(
    workspace: Workspace, folder: Path
) -> None:
    write(folder, "leave.md", "---\ntitle: Leave\n---\n25 days a year.")
    write(folder, "团队/印刷.md", "北京办公室的打印机在三楼走廊尽头。")
    connect(workspace, folder)
    done = synchronise(workspace)
    assert (done.status, done.error, done.cursor) == ("idle", "", {})
    assert counts(done) == {"seen": 2, "changed": 2, "total": 2}
    assert done.last_started_at is not None
    assert done.last_finished_at is not None
    with workspace_scope(workspace, ALL_SCOPES):
        found = {leaf.subject_key: leaf for leaf in workspace.leaves.select_related("tree")}
    assert set(found) == {"leave.md", "团队/印刷.md"}
    assert {leaf.tree.key for leaf in found.values()} == {"files:notes"}
    assert {leaf.origin_kind for leaf in found.values()} == {"document_revision"}
    assert {leaf.observed_at for leaf in found.values()} == {MAY}
    assert "# Leave\n\n25 days a year." in current(workspace)
    assert_clean(workspace)


def test_a_second_pass_brings_only_what_changed(workspace: Workspace, folder: Path) -> None:
    for name in ("a", "b", "c"):
        write(folder, f"{name}.md", f"Service {name} uses port 1.")
    connect(workspace, folder)
    synchronise(workspace)
    assert events(workspace) == 3
    assert counts(synchronise(workspace)) == {"seen": 3, "total": 3}
    assert events(workspace) == 3
    write(folder, "a.md", "Service a uses port 2.", at=MAY + timedelta(hours=1))
    (folder / "b.md").rename(folder / "d.md")
    assert counts(synchronise(workspace)) == {"seen": 3, "changed": 2, "deleted": 1, "total": 3}
    assert sorted(current(workspace)) == [
        "Service a uses port 2.",
        "Service b uses port 1.",
        "Service c uses port 1.",
    ]
    with workspace_scope(workspace, ALL_SCOPES):
        old = workspace.leaves.get(status="superseded")
        assert old.superseded_by is not None
        keys = {
            name
            for leaf in workspace.leaves.filter(status="active")
            for name in leaf.sources.values_list("event__external_id", flat=True)
        }
    assert keys >= {"a.md", "c.md", "d.md"}
    assert_clean(workspace)


def test_a_deleted_file_is_inactive_and_comes_back_with_its_old_time(
    workspace: Workspace, folder: Path
) -> None:
    write(folder, "a.md", "Service a uses port 1.")
    connect(workspace, folder)
    synchronise(workspace)
    (folder / "a.md").unlink()
    assert counts(synchronise(workspace, allow_deletions=True)) == {"deleted": 1}
    assert current(workspace) == []
    assert counts(synchronise(workspace)) == {}
    write(folder, "a.md", "Service a uses port 1.", at=MAY)
    synchronise(workspace)
    assert current(workspace) == ["Service a uses port 1."]
    assert_clean(workspace)


def test_a_text_that_comes_back_under_a_constant_date_is_current_again(
    workspace: Workspace, folder: Path
) -> None:
    connect(workspace, folder)
    for number, port in enumerate((1, 2, 1, 3, 1)):
        text = f"---\ndate: 2026-01-01\n---\nService a uses port {port}."
        write(folder, "a.md", text, at=MAY + timedelta(hours=number))
        synchronise(workspace)
        assert current(workspace) == [f"Service a uses port {port}."]
    assert_clean(workspace)


def test_a_file_put_back_from_an_older_copy_is_what_the_source_says(
    workspace: Workspace, folder: Path
) -> None:
    connect(workspace, folder)
    write(folder, "a.md", "Service a uses port 2.", at=MAY)
    synchronise(workspace)
    write(folder, "a.md", "Service a uses port 1.", at=MAY - timedelta(days=30))
    synchronise(workspace)
    assert current(workspace) == ["Service a uses port 1."]
    assert_clean(workspace)


@pytest.mark.parametrize(
    "date", ["1969-12-31", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"]
)
def test_a_time_that_no_event_may_have_is_not_used(
    workspace: Workspace, folder: Path, date: str
) -> None:
    write(folder, "a.md", f"---\ndate: {date}\n---\nService a uses port 1.")
    connect(workspace, folder)
    assert counts(synchronise(workspace))["changed"] == 1
    with workspace_scope(workspace, ALL_SCOPES):
        [leaf] = workspace.leaves.all()
    assert abs(leaf.observed_at - datetime.now(UTC)) < timedelta(hours=1)
    assert_clean(workspace)


def test_two_files_with_the_same_text_are_one_memory_until_both_are_gone(
    workspace: Workspace, folder: Path
) -> None:
    for name in ("a", "b"):
        write(folder, f"{name}.md", "The licence is MIT.")
    connect(workspace, folder)
    synchronise(workspace)
    (folder / "a.md").unlink()
    synchronise(workspace)
    assert current(workspace) == ["The licence is MIT."]
    (folder / "b.md").unlink()
    synchronise(workspace, allow_deletions=True)
    assert current(workspace) == []
    assert_clean(workspace)


def test_what_a_person_forgot_is_not_brought_back_by_a_pass(
    workspace: Workspace, folder: Path
) -> None:
    write(folder, "a.md", "Service a uses port 1.")
    connect(workspace, folder)
    synchronise(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        leaf_id = workspace.leaves.get().id
    forget_leaf(workspace, principal=principal_of(workspace), scopes=ALL_SCOPES, leaf_id=leaf_id)
    write(folder, "a.md", "Service a uses port 1.", at=MAY + timedelta(hours=1))
    synchronise(workspace)
    assert current(workspace) == []
    assert_clean(workspace)


def test_what_cannot_be_read_is_named_and_counted(workspace: Workspace, folder: Path) -> None:
    write(folder, "a.md", "Service a uses port 1.")
    write(folder, "bad.md", b"\xff")
    connect(workspace, folder)
    done = synchronise(workspace)
    assert (done.status, done.error) == ("idle", "")
    assert counts(done) == {"seen": 2, "changed": 1, "failed": 1, "total": 2}
    assert done.progress["failures"] == [
        {"external_id": "bad.md", "reason": "The text is not UTF-8 (byte 0)."}
    ]


def test_a_folder_that_went_away_fails_the_pass_and_forgets_nothing(
    workspace: Workspace, folder: Path
) -> None:
    write(folder, "a.md", "Service a uses port 1.")
    connect(workspace, folder)
    synchronise(workspace)
    folder.rename(folder.parent / "away")
    failed = synchronise(workspace)
    assert (failed.status, failed.error) == (
        "failed",
        "The folder cannot be opened: No such file or directory.",
    )
    assert current(workspace) == ["Service a uses port 1."]
    assert unfinished_jobs(workspace) == []
    (folder.parent / "away").rename(folder)
    assert synchronise(workspace).status == "idle"
    assert_clean(workspace)


@pytest.mark.parametrize(
    "accident", sampled(["unmounted", "most are gone", "most are empty"], fast=("unmounted",))
)
def test_a_folder_that_looks_emptied_is_not_believed_until_somebody_says_so(
    workspace: Workspace, folder: Path, accident: str
) -> None:
    files = [write(folder, f"{n:02}.md", f"Service {n} uses port {n}.") for n in range(12)]
    connect(workspace, folder)
    synchronise(workspace)
    left = [] if accident == "unmounted" else files[:2]
    for path in set(files) - set(left):
        if accident == "most are empty":
            write(folder, path.name, "", at=MAY + timedelta(hours=1))
        else:
            path.unlink()
    held = synchronise(workspace)
    assert held.status == "failed"
    assert held.error.startswith(f"{12 - len(left)} of 12 objects are gone at the source.")
    assert held.progress["held_deletions"] == 12 - len(left)
    assert len(current(workspace)) == 12
    assert unfinished_jobs(workspace) == []
    ask(workspace, allow_deletions=True)
    drain(workspace)
    done = get_connector(workspace, scopes=None, **WHERE)
    assert (done.status, done.error, done.progress["deleted"]) == ("idle", "", 12 - len(left))
    assert "held_deletions" not in done.progress
    assert len(current(workspace)) == len(left)
    write(folder, "new.md", "Service 99 uses port 99.")
    assert synchronise(workspace).status == "idle"
    assert_clean(workspace)


def test_a_word_for_deletions_reaches_a_pass_that_waits_already_and_no_later_one(
    workspace: Workspace, folder: Path
) -> None:
    path = write(folder, "a.md", "Service a uses port 1.")
    connect(workspace, folder)
    synchronise(workspace)
    path.unlink()
    assert ask(workspace) == ask(workspace, allow_deletions=True)
    drain(workspace)
    assert current(workspace) == []
    path = write(folder, "b.md", "Service b uses port 2.")
    synchronise(workspace)
    path.unlink()
    assert synchronise(workspace).status == "failed"
    assert current(workspace) == ["Service b uses port 2."]


def test_a_few_deletions_are_believed(workspace: Workspace, folder: Path) -> None:
    files = [write(folder, f"{n}.md", f"Service {n} uses port {n}.") for n in range(10)]
    connect(workspace, folder)
    synchronise(workspace)
    for path in files[:9]:
        path.unlink()
    assert synchronise(workspace).status == "idle"
    assert current(workspace) == ["Service 9 uses port 9."]


def test_secrets_in_a_file_are_masked(workspace: Workspace, folder: Path) -> None:
    secret = "sk-proj-" + "A1b2" * 12
    write(folder, "a.md", f"---\ntitle: Key {secret}\n---\nThe key is {secret}.")
    connect(workspace, folder)
    synchronise(workspace)
    assert current(workspace)
    assert not any("A1b2" in text for text in current(workspace))
    assert_clean(workspace)

"""A backup that somebody cut, changed or forged is refused, whatever it is named."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workspaces.services.backup.manifest import (
    FILE_LIST,
    MANIFEST,
    BackupDamaged,
    BackupTooNew,
    Manifest,
    Table,
    is_file_place,
)
from workspaces.services.backup.reading import check_backup, open_backup
from workspaces.services.backup.writing import FileWriter, new_archive

NODE = "01a22b39-ed85-7344-84bb-d36d594f226f"
BODY = f"acme/main/memory/interaction/网关/leaves/{NODE}.md"
JOURNAL = f"acme/main/erasures/{NODE}.json"
Change = Callable[[dict[str, bytes]], None]


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def write_backup(path: Path, *, files: dict[str, bytes]) -> None:
    with new_archive(path) as archive:
        archive.add("tables/workspaces_tenant", [b"1\tacme\n", b"2\tother\n"])
        writer = FileWriter(archive)
        for name, data in files.items():
            writer.add(name, data)
        writer.close()
        archive.close(
            Manifest(
                product_version="0.1.0",
                taken_at="2026-05-20T09:30:00+00:00",
                migrations=[["workspaces", "0001_initial"]],
                tables=[Table(name="workspaces_tenant", columns=["id", "slug"], rows=2)],
                files=writer.files,
                file_bytes=writer.bytes,
                packs=writer.packs,
                members=archive.members,
                problems=[],
            )
        )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "backup.zip"
    write_backup(path, files={BODY: b"words", JOURNAL: b"{}"})
    return path


def check(path: Path) -> None:
    with open_backup(path) as backup:
        check_backup(backup, on_progress=silent)


def rewritten(path: Path, change: Change) -> Path:
    """The same members after a change, packed anew: only what a backup says of itself is wrong."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def in_manifest(**values: Any) -> Change:
    def change(members: dict[str, bytes]) -> None:
        members[MANIFEST] = json.dumps(json.loads(members[MANIFEST]) | values).encode()

    return change


def drop(name: str) -> Change:
    return lambda members: members.pop(name) and None


def put(name: str, data: bytes) -> Change:
    return lambda members: members.update({name: data})


def test_a_whole_backup_gives_back_what_went_in(source: Path) -> None:
    check(source)
    with open_backup(source) as backup:
        assert {file.path: data for file, data in backup.files()} == {
            BODY: b"words",
            JOURNAL: b"{}",
        }
        assert b"".join(backup.table_rows("workspaces_tenant")) == b"1\tacme\n2\tother\n"


def test_files_beyond_one_pack_come_back_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workspaces.services.backup.writing.PACK_BYTES", 10)
    files = {BODY.replace("226f", f"{n:04x}"): bytes([n]) * (n * 3) for n in range(12)}
    write_backup(tmp_path / "packs.zip", files=files)
    check(tmp_path / "packs.zip")
    with open_backup(tmp_path / "packs.zip") as backup:
        assert len(backup.manifest.packs) > 3
        assert {file.path: data for file, data in backup.files()} == files


def test_a_changed_byte_anywhere_is_noticed(source: Path) -> None:
    """Or changes nothing: a few bytes of a ZIP archive, such as times, mean nothing to a reader."""
    data = source.read_bytes()
    with open_backup(source) as backup:
        manifest = backup.manifest
    for position in range(0, len(data), 3):
        source.write_bytes(data[:position] + bytes([data[position] ^ 0x41]) + data[position + 1 :])
        try:
            check(source)
        except BackupDamaged:
            continue
        with open_backup(source) as backup:
            assert backup.manifest == manifest


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_backup_that_was_cut_short_is_refused(source: Path, share: float) -> None:
    data = source.read_bytes()
    source.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(BackupDamaged):
        check(source)


@pytest.mark.parametrize(
    "change",
    [
        drop(MANIFEST),
        drop("tables/workspaces_tenant"),
        put("tables/workspaces_tenant", b"1\tacme\n2\tforged\n"),
        put("files/000000", b"wordz{}"),
        put("files/000000", b"words{}more"),
        put("tables/auth_user", b"1\troot\n"),
        put("../../etc/passwd", b"root"),
        put(MANIFEST, b"{" * 100_000),
        in_manifest(tables=[]),
        in_manifest(packs=[]),
        in_manifest(files=1),
        in_manifest(migrations=[["workspaces"]]),
        in_manifest(taken_at="yesterday"),
        in_manifest(more=1),
    ],
)
def test_contents_that_contradict_each_other_are_refused(source: Path, change: Change) -> None:
    with pytest.raises(BackupDamaged):
        check(rewritten(source, change))


def test_a_member_that_unpacks_to_more_than_its_manifest_says_is_refused(source: Path) -> None:
    bomb = rewritten(source, put("files/000000", b"\0" * 50_000_000))
    assert bomb.stat().st_size < 100_000
    with pytest.raises(BackupDamaged):
        check(bomb)


@pytest.mark.parametrize(
    "path",
    [
        f"../../{BODY}",
        f"/etc/{BODY}",
        f"acme/../memory/interaction/x/leaves/{NODE}.md",
        f"acme/main/memory/../../../x/{NODE}.md",
        f"acme/main/memory/a\\b/{NODE}.md",
        f"acme/main/memory/a\x00b/{NODE}.md",
        "acme/main/memory/interaction/x/leaves/authorized_keys",
        f"acme/main/memory//x/{NODE}.md",
        "acme/main/workspace.yaml",
        "credentials.json",
        BODY + "\n",
        f"acme/main/memory/{'x' * 700}/{NODE}.md",
    ],
)
def test_a_file_may_only_lie_where_memory_lies(tmp_path: Path, path: str) -> None:
    assert not is_file_place(path)
    write_backup(tmp_path / "hostile.zip", files={path: b"words"})
    with pytest.raises(BackupDamaged, match="where none may lie"):
        check(tmp_path / "hostile.zip")


@pytest.mark.parametrize("second", [BODY, f"{BODY}/{NODE}.md"])
def test_no_file_is_named_twice_or_is_the_folder_of_another(source: Path, second: str) -> None:
    def change(members: dict[str, bytes]) -> None:
        lines = members[FILE_LIST].splitlines(keepends=True)
        lines[1] = lines[1].replace(JOURNAL.encode(), second.encode())
        members[FILE_LIST] = b"".join(lines)

    with pytest.raises(BackupDamaged):
        check(rewritten(source, change))


def test_a_backup_of_a_newer_format_is_told_from_a_damaged_one(source: Path) -> None:
    with pytest.raises(BackupTooNew):
        check(rewritten(source, in_manifest(format=2)))


def test_something_else_is_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a backup")
    with pytest.raises(BackupDamaged, match="no whole backup"):
        check(path)


def test_a_failed_backup_leaves_nothing_and_a_killed_one_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "backup.zip"
    with pytest.raises(OSError, match="no room"), new_archive(path):
        raise OSError("no room")
    assert list(tmp_path.iterdir()) == []
    path.with_name("backup.zip.partial").write_bytes(b"left by a killed run" * 1000)
    write_backup(path, files={BODY: b"words"})
    check(path)
    assert [found.name for found in tmp_path.iterdir()] == ["backup.zip"]
    assert path.stat().st_mode & 0o777 == 0o600

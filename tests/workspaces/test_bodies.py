"""Body files: whole or absent, private, checked against their hash."""

import os
import stat
from pathlib import Path

import pytest

from holamem.errors import StorageFull
from workspaces import bodies
from workspaces.bodies import (
    BodyCorrupt,
    BodyMissing,
    DurableFileStorage,
    body_storage,
    copy_body,
    delete_bodies,
    read_front_matter,
    read_markdown,
    save_bodies,
    write_body,
)

HEAD = {"id": "1", "title": "标题: with colon", "labels": ["a", "乙"]}


def on_disk(path: str) -> Path:
    return Path(body_storage().path(path))


@pytest.mark.parametrize(
    "markdown", ["", "plain", "---\nnot: front\n---\n", "一行\r\n二行", "😀\n" * 3]
)
def test_the_markdown_comes_back_exactly(markdown: str) -> None:
    written = write_body("bodies/round.md", front_matter=HEAD, markdown=markdown)
    assert read_markdown(written.path, sha256=written.sha256) == markdown
    assert read_front_matter(written.path) == HEAD
    assert on_disk(written.path).stat().st_size == written.size


def test_files_and_folders_are_private() -> None:
    written = write_body("bodies/deep/er/private.md", front_matter=HEAD, markdown="x")
    file = on_disk(written.path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_changed_or_missing_file_is_an_error_not_a_text() -> None:
    written = write_body("bodies/changed.md", front_matter=HEAD, markdown="true")
    on_disk(written.path).write_bytes(b"---\nid: 1\n---\nfalse")
    with pytest.raises(BodyCorrupt):
        read_markdown(written.path, sha256=written.sha256)
    on_disk(written.path).write_bytes(b"\xff\xfe")
    with pytest.raises(BodyCorrupt):
        read_markdown(written.path)
    delete_bodies([written.path])
    with pytest.raises(BodyMissing):
        read_markdown(written.path)


def test_a_failed_write_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bodies.os, "fsync", full)
    with pytest.raises(StorageFull):
        write_body("bodies/full/new.md", front_matter=HEAD, markdown="x")
    monkeypatch.undo()
    folder = on_disk("bodies/full")
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_rewrite_replaces_the_file_and_not_its_target(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    written = write_body("bodies/linked.md", front_matter=HEAD, markdown="one")
    on_disk(written.path).unlink()
    os.symlink(victim, on_disk(written.path))
    write_body("bodies/linked.md", front_matter=HEAD, markdown="two")
    assert victim.read_text() == "untouched"
    assert read_markdown("bodies/linked.md") == "two"


def test_a_copy_has_the_same_bytes() -> None:
    written = write_body("bodies/source.md", front_matter=HEAD, markdown="same")
    copy_body(written.path, "bodies/target/copy.md")
    assert read_markdown("bodies/target/copy.md", sha256=written.sha256) == "same"


def test_bodies_that_are_written_together_sync_their_folder_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save_bodies({"bodies/together/first.md": b"0"})  # makes the folder
    synced: list[Path] = []
    real = bodies.sync_directory

    def watched(path: Path) -> None:
        synced.append(path)
        real(path)

    monkeypatch.setattr(bodies, "sync_directory", watched)
    save_bodies({f"bodies/together/{n}.md": str(n).encode() for n in range(5)})
    folder = on_disk("bodies/together")
    assert synced == [folder]
    assert [(folder / f"{n}.md").read_text() for n in range(5)] == ["0", "1", "2", "3", "4"]


def test_a_full_disk_in_the_middle_leaves_none_of_the_bodies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, calls = os.fsync, [0]

    def full_after_two(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] > 4:  # two for the folder, two for bodies
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(bodies.os, "fsync", full_after_two)
    with pytest.raises(StorageFull):
        save_bodies({f"bodies/half/way/{n}.md": b"x" for n in range(5)})
    monkeypatch.undo()
    assert list(on_disk("bodies/half/way").iterdir()) == []


def test_a_path_outside_the_folder_is_refused(tmp_path: Path) -> None:
    storage = DurableFileStorage(tmp_path)
    from django.core.exceptions import SuspiciousFileOperation
    from django.core.files.base import ContentFile

    with pytest.raises(SuspiciousFileOperation):
        storage.save("../outside.md", ContentFile(b"x"))

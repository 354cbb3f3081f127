"""Small disks for the bodies: they fill, lose their inodes or turn read-only for real."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.files.storage import storages

from workspaces.api import health
from workspaces.bodies import TEMPORARY_SUFFIX, DurableFileStorage

BYTES, FILES = 512 * 1024, 400


@dataclass(frozen=True, slots=True)
class Disk:
    folder: Path

    @contextmanager
    def full(self) -> Iterator[None]:
        with self._stuffed(_fill_up):
            yield

    @contextmanager
    def without_inodes(self) -> Iterator[None]:
        with self._stuffed(_use_up_inodes):
            yield

    @contextmanager
    def read_only(self) -> Iterator[None]:
        self._remount("ro")
        try:
            yield
        finally:
            self._remount("rw")

    @contextmanager
    def _stuffed(self, stuff: Callable[[Path], None]) -> Iterator[None]:
        ballast = self.folder / "ballast"
        ballast.mkdir()
        try:
            stuff(ballast)
            yield
        finally:
            shutil.rmtree(ballast)

    def _remount(self, mode: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{mode}", self.folder], check=True, timeout=20)

    def temporary_files(self) -> list[Path]:
        return list(self.folder.rglob(f"*{TEMPORARY_SUFFIX}"))


def _fill_up(folder: Path) -> None:
    with suppress(OSError), (folder / "all").open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass


def _use_up_inodes(folder: Path) -> None:
    with suppress(OSError):
        for number in range(FILES + 1):
            (folder / str(number)).touch()


@contextmanager
def small_disk(patch: pytest.MonkeyPatch, folder: Path) -> Iterator[Disk]:
    """Bodies go there meanwhile, and back to the common store in the end. Skips without mounts."""
    folder.mkdir()
    _mount(folder)
    common = storages["bodies"].path("")
    try:
        with patch.context() as patched:
            patched.setitem(storages._storages, "bodies", DurableFileStorage(folder))
            patched.setattr(health, "FREE_BYTES", BYTES // 8)
            patched.setattr(health, "FREE_FILES", FILES // 8)
            yield Disk(folder)
        shutil.copytree(folder, common, dirs_exist_ok=True)
    finally:
        subprocess.run(["umount", "-l", folder], check=True, timeout=20)


def _mount(folder: Path) -> None:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a small disk")
    options = f"size={BYTES},nr_inodes={FILES},mode=0755"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, timeout=20
    )
    if mounted.returncode:
        pytest.skip(f"no small disk here: {mounted.stderr.decode().strip()}")

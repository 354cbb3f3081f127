"""A backup of a running installation, restored into an empty one."""

import json
import os
import shutil
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection

from holamem.database.roles import apply_grants, as_owner, ensure_roles
from holamem.database.schema import RESTORE_MARK, applied_migrations
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import Conflict, InvalidInput
from tests.verification import assert_clean, assert_installation_clean, errors_of
from tests.workspaces.erasing import english, erase, erased, leaf_of, sealed_memory, workspace_of
from tests.workspaces.installations import Installation, new_installation
from tests.workspaces.memory import draft, drain, principal_of, remember, unfinished_jobs
from tests.workspaces.traces import assert_no_trace, english_canary, tables_holding
from workspaces.bodies import body_storage
from workspaces.models.tenancy import Workspace
from workspaces.services.backup import making
from workspaces.services.backup.loading import migrate_to
from workspaces.services.backup.making import BackupMade, make_backup
from workspaces.services.backup.manifest import MANIFEST, BackupDamaged, BackupTooNew, Problem
from workspaces.services.backup.replaying import read_journal
from workspaces.services.backup.restoring import Restored, restore_backup
from workspaces.services.erasure.journal import replay_erasures
from workspaces.services.erasure.receipts import receipt
from workspaces.services.intake import receive_events
from workspaces.services.jobs import claim_job
from workspaces.services.operators import find_workspaces
from workspaces.services.results import event_result
from workspaces.services.tenants import create_tenant
from workspaces.verify.run import verify_workspace


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def backed_up(target: Path) -> BackupMade:
    return make_backup(target, on_progress=silent)


def restored(source: Path, *, journal: Path | None = None) -> Restored:
    return restore_backup(source, journal=journal, on_progress=silent)


@dataclass(frozen=True, slots=True)
class Old:
    """An installation with a memory and its backup; `word` was erased after it was made."""

    installation: Installation
    backup: BackupMade
    word: str
    under_way: UUID  # an event whose job a worker had
    waiting: UUID  # an event whose job was ready

    @property
    def source(self) -> Path:
        return Path(self.backup.path)


@pytest.fixture(scope="module")
def old(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Old:
    folder = tmp_path_factory.mktemp("old")
    installation, word = new_installation(folder), english_canary()
    with installation.in_use():
        workspace = workspace_of(create_tenant(slug="acme", name="Acme"))
        leaf_id = sealed_memory(workspace, english(word))
        under_way, waiting = (
            received(workspace, "Ines runs payroll."),
            received(workspace, "Omar runs billing."),
        )
        assert claim_job(job_of(workspace, under_way)) is not None
        backup = backed_up(folder)
        erased(workspace, leaf_id)
    return Old(installation, backup, word, under_way, waiting)


def received(workspace: Workspace, text: str) -> UUID:
    [event_id] = receive_events(
        workspace, drafts=[draft(text)], principal=principal_of(workspace)
    ).event_ids
    return event_id


def job_of(workspace: Workspace, target_id: UUID) -> UUID:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.jobs.get(target_id=target_id).id


@dataclass(frozen=True, slots=True)
class Small:
    """One fact, and its backup."""

    installation: Installation
    backup: BackupMade

    @property
    def source(self) -> Path:
        return Path(self.backup.path)

    @property
    def migrations(self) -> list[list[str]]:
        with zipfile.ZipFile(self.source) as archive:
            found: list[list[str]] = json.loads(archive.read(MANIFEST))["migrations"]
        return found

    def changed(self, target: Path, **values: object) -> Path:
        """The same backup, but for what its manifest says."""
        with zipfile.ZipFile(self.source) as archive, zipfile.ZipFile(target, "w") as other:
            for name in archive.namelist():
                data = archive.read(name)
                if name == MANIFEST:
                    data = json.dumps(json.loads(data) | values).encode()
                other.writestr(name, data)
        return target


@pytest.fixture(scope="module")
def small(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Small:
    folder = tmp_path_factory.mktemp("small")
    installation = new_installation(folder)
    with installation.in_use():
        workspace = workspace_of(create_tenant(slug="acme", name="Acme"))
        remember(workspace, draft("The Atlas gateway listens on port 8443."))
        backup = backed_up(folder)
    return Small(installation, backup)


@pytest.fixture
def empty(tmp_path: Path) -> Installation:
    return new_installation(tmp_path)


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace in an installation of its own, which this process works on."""
    with new_installation(tmp_path).in_use():
        yield workspace_of(create_tenant(slug="acme", name="Acme"))


def count(table: str) -> int:
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        return int(cursor.fetchone()[0])


def only_workspace() -> Workspace:
    [workspace] = find_workspaces()
    return workspace


@pytest.mark.slow
def test_all_comes_back_but_what_was_erased_since(old: Old, empty: Installation) -> None:
    with empty.in_use():
        report = restored(old.source, journal=old.installation.data_dir)
        workspace = only_workspace()
        assert_no_trace(old.word)
        assert_clean(workspace)
        assert_installation_clean()
        assert (report.erasures_again, report.erasures_unfinished) == (1, [])
        for name in ("workspaces_event", "workspaces_sourceleaf", "workspaces_entity"):
            assert count(name) == old.backup.tables[name]
        assert RESTORE_MARK not in applied_migrations(connection)
        assert {path.stat().st_mode & 0o777 for path in empty.bodies.rglob("*.md")} == {0o600}


@pytest.mark.slow
def test_work_that_was_waiting_or_under_way_is_done_once(old: Old, empty: Installation) -> None:
    with empty.in_use():
        assert restored(old.source).jobs_released == 1
        workspace = only_workspace()
        drain(workspace)
        for event_id in (old.under_way, old.waiting):
            result = event_result(workspace, scopes=ALL_SCOPES, event_id=event_id)
            assert [chunk.outcome for chunk in result.chunks] == ["created"]
        assert unfinished_jobs(workspace) == []
        assert tables_holding(old.word)
        assert_clean(workspace)


@pytest.mark.slow
def test_what_is_erased_while_the_files_are_copied_stays_erased(
    bare: Workspace, empty: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are in the snapshot, its file is gone before it is copied, and nothing is wrong."""
    word, copy = english_canary(), making.copy_bodies
    [result, _] = remember(
        bare, draft(english(word)), draft("The Atlas gateway supports gRPC.", minutes=1)
    )

    def erase_first(*arguments: Any, **values: Any) -> list[Problem]:
        erased(bare, leaf_of(result))
        return copy(*arguments, **values)

    monkeypatch.setattr(making, "copy_bodies", erase_first)
    made = backed_up(tmp_path)
    assert (made.problems, made.erasures) == ([], 1)
    with empty.in_use():
        assert restored(Path(made.path)).erasures_again == 1
        assert_no_trace(word)
        assert_clean(only_workspace())


@pytest.mark.slow
def test_an_erasure_that_was_not_complete_is_completed_by_the_restore(
    bare: Workspace, empty: Installation, tmp_path: Path
) -> None:
    word = english_canary()
    [result, _] = remember(
        bare, draft(english(word)), draft("The Atlas gateway supports gRPC.", minutes=1)
    )
    asked = erase(bare, leaf_of(result))
    made = backed_up(tmp_path)
    with empty.in_use():
        assert restored(Path(made.path)).erasures_unfinished == []
        workspace = only_workspace()
        done = receipt(workspace, scopes=ALL_SCOPES, erasure_id=asked.erasure_id)
        assert done.status == "complete"
        assert_no_trace(word)
        assert_clean(workspace)


@pytest.mark.slow
def test_a_backup_of_an_older_release_is_brought_to_this_one(
    empty: Installation, tmp_path: Path
) -> None:
    older = new_installation(tmp_path, template="template1")
    newest = applied_migrations(connection)
    with older.in_use():
        ensure_roles(connection)
        migrate_to([key for key in newest if key[0] != "workspaces" or key[1] < "0004"])
        apply_grants(connection)
        with as_owner(connection), connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO workspaces_tenant (id, slug, name, created_at, settings, quotas)"
                " VALUES (gen_random_uuid(), 'acme', 'Acme', now(), '{}', '{}')"
            )
        made = backed_up(tmp_path)
    with empty.in_use():
        assert restored(Path(made.path)).rows == made.rows
        assert applied_migrations(connection) == newest
        assert count("workspaces_tenant") == 1
        assert_installation_clean()


def test_a_backup_of_a_newer_release_is_refused(small: Small, empty: Installation) -> None:
    newer = [*small.migrations, ["workspaces", "9999_of_a_newer_release"]]
    with empty.in_use(), pytest.raises(BackupTooNew, match="9999_of_a_newer_release"):
        restored(small.changed(empty.data_dir / "newer.zip", migrations=newer))


def test_a_restore_waits_for_nobody_who_is_connected(small: Small, empty: Installation) -> None:
    with psycopg.connect(empty.url), empty.in_use(), pytest.raises(Conflict, match="Stop its web"):
        restored(small.source)


def test_what_is_not_empty_is_refused_and_named(small: Small) -> None:
    with small.installation.in_use():
        before = count("workspaces_event")
        with pytest.raises(Conflict, match=r"rows in workspaces_tenant \(1\)") as refused:
            restored(small.source)
        assert "files of memory such as acme/" in refused.value.message
        assert count("workspaces_event") == before == 1


def middle_of_largest(archive: Path) -> int:
    """A place in what is stored: some bytes between the files mean nothing to a reader."""
    with zipfile.ZipFile(archive) as opened:
        largest = max(opened.infolist(), key=lambda info: info.compress_size)
    lengths = struct.unpack_from("<HH", archive.read_bytes(), largest.header_offset + 26)
    return largest.header_offset + 30 + sum(lengths) + largest.compress_size // 2


def test_a_damaged_backup_is_refused_before_anything_is_written(
    small: Small, empty: Installation, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.zip"
    data = bytearray(small.source.read_bytes())
    data[middle_of_largest(small.source)] ^= 0x10
    damaged.write_bytes(data)
    with empty.in_use():
        before = applied_migrations(connection)
        with pytest.raises(BackupDamaged):
            restored(damaged)
        assert applied_migrations(connection) == before
        assert not empty.bodies.exists()


def test_a_journal_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="neither bodies nor a journal"):
        read_journal(tmp_path)


def test_a_backup_is_its_owners_alone_and_replaces_nothing(small: Small) -> None:
    assert small.source.stat().st_mode & 0o777 == 0o600
    with small.installation.in_use(), pytest.raises(Conflict, match="exists already"):
        backed_up(small.source)
    assert list(small.source.parent.glob("*.partial")) == []


def test_sessions_and_messages_of_the_broker_stay_behind(small: Small) -> None:
    """They are signed with the key of the old installation."""
    names = set(small.backup.tables)
    assert {name for name in names if name.startswith(("django_session", "django_q"))} == set()
    assert {"workspaces_job", "workspaces_apikey", "auth_user", "retrieval_gap"} <= names


def test_bodies_that_are_missing_or_damaged_are_named_and_stop_nothing(
    bare: Workspace, tmp_path: Path
) -> None:
    facts = [f"The {name} gateway listens on port {port}." for port, name in FACTS]
    results = remember(bare, *(draft(fact, minutes=n) for n, fact in enumerate(facts)))
    missing, damaged = (body_of(bare, leaf_of(result)) for result in results[:2])
    missing.unlink()
    damaged.write_bytes(b"cut")
    made = backed_up(tmp_path)
    assert [(row.reason, Path(row.path).name) for row in made.problems] == [
        ("missing", missing.name),
        ("damaged", damaged.name),
    ]


FACTS = ((8443, "Atlas"), (9443, "Beacon"), (7443, "Cedar"))


def body_of(workspace: Workspace, leaf_id: UUID) -> Path:
    with workspace_scope(workspace, ALL_SCOPES):
        return Path(body_storage().path(workspace.leaves.get(id=leaf_id).body_path))


@pytest.mark.slow
def test_files_of_an_hour_before_the_database_are_named_one_by_one(
    old: Old, tmp_path: Path
) -> None:
    """X66: the database is newer."""
    copy = Installation(old.installation.url, tmp_path)
    with old.installation.in_use():
        shutil.copytree(old.installation.bodies, copy.bodies)
        workspace = only_workspace()
        newer = [leaf_of(r) for r in remember(workspace, draft("Lina leads the Delta team."))]
    with copy.in_use():
        missing = {found.object for found in errors_of(workspace) if found.code == "B1"}
    assert missing >= {f"leaf:{leaf_id}" for leaf_id in newer}


@pytest.mark.slow
def test_a_database_of_an_hour_before_the_files_is_named_and_mended(
    old: Old, tmp_path: Path
) -> None:
    """X66: the files are newer, and so is the journal of erasures."""
    word = english_canary()
    with old.installation.in_use():
        workspace = only_workspace()
        [known] = remember(workspace, draft(english(word), minutes=70))
    older = Installation(copied_database(old.installation, tmp_path), old.installation.data_dir)
    with old.installation.in_use():
        extra = leaf_of(remember(workspace, draft("Mara leads the Echo team."))[0])
        path = body_of(workspace, extra)
        erased(workspace, leaf_of(known))
    os.utime(path, (0, 0))
    with older.in_use():
        found = verify_workspace(workspace)
        assert {row.object for row in found if row.code == "B6"} == {
            f"file:{path.relative_to(older.bodies)}"
        }
        assert {row.code for row in found if row.object.startswith("erasure:")} == {"S6"}
        replay_erasures(workspace)
        drain(workspace)
        assert_no_trace(word)
        assert [row for row in errors_of(workspace) if row.code in ("S5", "S6")] == []


def copied_database(installation: Installation, folder: Path) -> str:
    name = installation.url.rsplit("/", 1)[1].partition("?")[0]
    (folder / uuid4().hex).mkdir()
    return new_installation(folder, template=name).url

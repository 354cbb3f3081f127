"""An archive of a stranger is refused as a whole: no row, no file, nothing of anybody else's."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from holamem.errors import HolamemError
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, remember
from tests.workspaces.transfer.tampering import members_of, packed_again, with_rows
from tests.workspaces.transfer.test_moving import files_below
from tests.workspaces.transfer.world import counted, empty_workspace, exported, imported
from workspaces.models.tenancy import Workspace
from workspaces.services.backup.manifest import BackupDamaged

JSON = dict[str, Any]
LEAF, EVENT, TREE, USER = (
    "workspaces_sourceleaf", "workspaces_event", "workspaces_tree", "workspaces_enduser"
)  # fmt: skip
STRANGER = str(uuid4())


@pytest.fixture(scope="module")
def victim() -> Workspace:
    workspace = empty_workspace("victim")
    remember(workspace, draft("The Borealis gateway listens on port 9443."))
    return workspace


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = empty_workspace("source")
    remember(
        workspace,
        draft("The Atlas gateway listens on port 8443."),
        draft("Pavel Orlov prefers tea.", minutes=1, user_id="u-1"),
    )
    drain(workspace)
    return exported(workspace, tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def target() -> Workspace:
    return empty_workspace()


def assert_refused(target: Workspace, path: Path) -> HolamemError:
    with pytest.raises(BackupDamaged) as refused:
        imported(target, path)
    assert counted(target) == NOTHING
    assert files_below(f"{target.tenant.slug}/{target.slug}/memory") == []
    return refused.value


NOTHING = {
    "leaves": [], "summaries": [], "events": [], "entities": [], "users": [], "vectors": 0,
    "lexemes": 0,
}  # fmt: skip


def setting(**values: object) -> Callable[[JSON], JSON]:
    return lambda row: {**row, **values}


def nested(depth: int) -> object:
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


ROWS: dict[str, tuple[str, Callable[[JSON], JSON | None]]] = {
    "rows of another workspace": (EVENT, setting(workspace_id=STRANGER)),
    "rows of nobody": (LEAF, setting(scope_id=STRANGER)),
    "rows of everybody": (LEAF, setting(scope_id="*")),
    "a column more": (LEAF, setting(is_root=True)),
    "a column less": (LEAF, lambda row: {k: v for k, v in row.items() if k != "trust"}),
    "an id that is none": (EVENT, setting(id="1 OR true")),
    "one id for all": (LEAF, setting(id=STRANGER)),
    "the id of the workspace": (USER, lambda row: {**row, "id": row["workspace_id"]}),
    "a tree of somebody else": (LEAF, setting(tree_id=STRANGER)),
    "a state that is none": (LEAF, setting(status="visible")),
    "a list for a state": (LEAF, setting(status=["active"])),
    "a list for an id": (LEAF, setting(tree_id=[STRANGER])),
    "NUL": (EVENT, setting(payload_text="a\0b")),
    "a lone surrogate": (EVENT, setting(payload_text="\ud800")),
    "a deep document": (EVENT, setting(metadata={"a": nested(70)})),
    "a document deeper than any reader": (EVENT, setting(metadata={"a": nested(900)})),
    "a number that no column holds": (TREE, setting(height=10**20)),
    "a text for a number": (TREE, setting(height="high")),
    "a path for a tree": (TREE, setting(key="interaction:../../../../tmp")),
    "a path for a user": (USER, setting(slug="../../../..")),
    "a path of somebody else": (LEAF, setting(body_path="/etc/passwd")),
    "another hash than the file's": (LEAF, setting(body_sha256="0" * 64)),
    "trees that are missing": (TREE, lambda row: None),
    "leaves that are missing": (LEAF, lambda row: None),
    "a tree without its category": (TREE, setting(category="integration")),
    "words on an erased leaf": (LEAF, setting(status="erased")),
}


@pytest.mark.parametrize("case", ROWS)
def test_an_archive_with_forged_rows_is_refused(
    target: Workspace, archive: Path, tmp_path: Path, case: str
) -> None:
    table, change = ROWS[case]
    error = assert_refused(target, with_rows(archive, tmp_path, table=table, change=change))
    assert "\0" not in error.message
    assert "Atlas" not in error.message


def test_an_archive_cannot_name_rows_or_files_of_another_tenant(
    target: Workspace, archive: Path, victim: Workspace, tmp_path: Path
) -> None:
    before = counted(victim)
    for row in (setting(workspace_id=str(victim.pk)), setting(scope_id=str(victim.pk))):
        assert_refused(target, with_rows(archive, tmp_path, table=LEAF, change=row))
    members = members_of(archive)
    folder = f"{victim.tenant.slug}/{victim.slug}/memory/interaction/x"
    stolen = f"{folder}/leaves/{uuid4()}.md"
    lines = [json.loads(line) | {"path": stolen} for line in members["files.jsonl"].splitlines()]
    members["files.jsonl"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines[:1])
    assert_refused(target, packed_again(members, tmp_path))
    assert counted(victim) == before
    assert_clean(victim)


@pytest.mark.parametrize("path", ["../../x.md", "/etc/passwd", "a/b/memory/../../../x.md", "a\\b"])
def test_an_archive_whose_files_lead_elsewhere_is_refused(
    target: Workspace, archive: Path, tmp_path: Path, path: str
) -> None:
    members = members_of(archive)
    lines = [json.loads(line) | {"path": path} for line in members["files.jsonl"].splitlines()]
    members["files.jsonl"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert_refused(target, packed_again(members, tmp_path))


def test_an_archive_that_is_cut_or_is_none_is_refused(
    target: Workspace, archive: Path, tmp_path: Path
) -> None:
    whole = archive.read_bytes()
    for data in (whole[: len(whole) // 2], whole[:-30], b"", b"PK\x05\x06", b"{}" * 100):
        path = tmp_path / uuid4().hex
        path.write_bytes(data)
        assert_refused(target, path)


def test_an_archive_that_is_not_what_its_manifest_says_is_refused(
    target: Workspace, archive: Path, tmp_path: Path
) -> None:
    members = members_of(archive)
    manifest = json.loads(members["manifest.json"])
    one_more = [{**table, "rows": table["rows"] + 1} for table in manifest["tables"]]
    for told in (
        {"members": manifest["members"] | {f"tables/{EVENT}": {"size": 1, "sha256": "0" * 64}}},
        {"tables": one_more},
        {"tables": manifest["tables"][1:]},
        {"format": 2},
        {"kind": "installation"},
        {"workspace_id": "x"},
        {"files": manifest["files"] + 1},
        {"settings": {"seal_threshold": -1}},
    ):
        path = packed_again(members, tmp_path, manifest=told)
        with pytest.raises(HolamemError):
            imported(target, path)
        assert counted(target) == NOTHING


def test_an_archive_with_a_link_or_a_member_of_its_own_is_refused(
    target: Workspace, archive: Path, tmp_path: Path
) -> None:
    link = zipfile.ZipInfo("files/link")
    link.external_attr = 0o120777 << 16
    for name in (link, "../../escape", "tables/auth_user"):
        path = tmp_path / uuid4().hex
        path.write_bytes(archive.read_bytes())
        with zipfile.ZipFile(path, "a") as packed:
            packed.writestr(name, "/etc/passwd")
        assert_refused(target, path)


def test_a_bomb_is_refused_before_it_is_unpacked(
    target: Workspace, archive: Path, tmp_path: Path
) -> None:
    members = members_of(archive)
    members[f"tables/{EVENT}"] = b"\n" * 17_000_000
    error = assert_refused(target, packed_again(members, tmp_path))
    assert "unpacks to more" in error.message
    many = tmp_path / "many.zip"
    with zipfile.ZipFile(many, "w") as packed:
        for number in range(2_500):
            packed.writestr(f"files/{number:02000}", b"")
    assert "too many members" in assert_refused(target, many).message

"""Reading the files of one tree: what cannot be trusted is named and goes no further."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import override_settings

from tests.workspaces.memory import ATLAS_FACTS, draft, remember
from tests.workspaces.rebuild.forging import body_of, forged
from tests.workspaces.rebuild.second import bodies_root
from workspaces.models.tenancy import Workspace
from workspaces.services.rebuild.found import FoundTree, read_tree
from workspaces.services.tenants import create_tenant, create_workspace

OTHER = "01890000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def memory(django_db_setup: None) -> Workspace:
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
    workspace = create_workspace(tenant, slug="w", name="W", settings={"seal_threshold": 3})
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:6])])
    return workspace


@pytest.fixture
def tree(memory: Workspace, tmp_path: Path) -> Iterator[Path]:
    """The folder of a tree with six leaves and summaries of two heights, in a copied store."""
    inside = f"{memory.tenant.slug}/w/memory/interaction/atlas-gateway"
    shutil.copytree(bodies_root() / inside, tmp_path / inside)
    stores = {**settings.STORAGES, "bodies": {**settings.STORAGES["bodies"]}}
    stores["bodies"]["OPTIONS"] = {**stores["bodies"]["OPTIONS"], "location": tmp_path}
    with override_settings(STORAGES=stores):
        yield tmp_path / inside


def read(memory: Workspace) -> FoundTree:
    directory = f"{memory.tenant.slug}/w/memory/interaction/atlas-gateway"
    return read_tree(directory, workspace_id=memory.pk)


def reasons(found: FoundTree) -> dict[str, str]:
    return {problem.path.rsplit("/", 1)[-1]: problem.reason for problem in found.problems}


def test_what_was_written_is_read(memory: Workspace, tree: Path) -> None:
    found = read(memory)
    assert (len(found.leaves), found.problems) == (6, ())
    assert found.sidecar is not None
    assert found.sidecar.tree.root in found.summaries
    assert {leaf.head.actor for leaf in found.leaves.values()} == {""}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workspace", OTHER),
        ("scope", OTHER),
        ("tree_id", OTHER),
        ("tree", "interaction:../../other"),
        ("category", "integration"),
        ("id", OTHER),
        ("id", "../../../etc/passwd"),
        ("kind", "summary"),
        ("confidence", 7),
        ("confidence", float("nan")),
        ("observed_at", "yesterday"),
        ("observed_at", "2026-05-20T09:30:00"),
        ("labels", "x"),
        ("title", "t" * 300),
        ("title", "with\0NUL"),
        ("fingerprint", "0" * 64),
        ("policies", None),
        ("trust", "absolute"),
        ("origin", "system"),
        ("event", {"id": OTHER}),
        ("supersedes", "the other one"),
    ],
)
def test_a_forged_head_is_refused(memory: Workspace, tree: Path, name: str, value: object) -> None:
    path = body_of(tree, ATLAS_FACTS[4])
    path.write_text(forged(path, {name: value}))
    found = read(memory)
    assert list(reasons(found)) == [path.name]
    assert len(found.leaves) == 5


@pytest.mark.parametrize(
    "head",
    [
        "!!python/object/apply:os.system ['true']",
        "id: !!binary aGVsbG8=",
        "id: &a x\nkind: *a",
        "id: " + "[" * 200 + "]" * 200,
        "- a list",
        'id: "\\0"',
        "id: 2026-05-20",
        "{",
        "",
        "id: " + "9" * 9000,
        "? [a, b]\n: c",
    ],
)
def test_front_matter_with_tricks_is_refused(memory: Workspace, tree: Path, head: str) -> None:
    path = body_of(tree, ATLAS_FACTS[3])
    path.write_text(f"---\n{head}\n---\n{ATLAS_FACTS[3]}")
    assert list(reasons(read(memory))) == [path.name]


def test_a_yaml_bomb_is_refused_before_it_is_built(memory: Workspace, tree: Path) -> None:
    path = body_of(tree, ATLAS_FACTS[3])
    layers = "".join(
        f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9) if n else 'lol'}]\n" for n in range(12)
    )
    path.write_text(f"---\n{layers}---\n{ATLAS_FACTS[3]}")
    assert reasons(read(memory)) == {path.name: "it uses YAML anchors"}


def test_a_changed_text_or_head_is_noticed(memory: Workspace, tree: Path) -> None:
    text, head = body_of(tree, ATLAS_FACTS[0]), body_of(tree, ATLAS_FACTS[1])
    text.write_text(text.read_text().replace("port 8443.", "port 9443."))
    head.write_text(head.read_text().replace("trust: user", "trust: accepted"))
    assert reasons(read(memory)) == dict.fromkeys(
        sorted([text.name, head.name]), "its checksum does not match"
    )


def test_rubbish_is_named_and_stops_nothing(memory: Workspace, tree: Path) -> None:
    torn, noise, empty = (body_of(tree, text) for text in ATLAS_FACTS[:3])
    torn.write_bytes(torn.read_bytes()[:200])
    noise.write_bytes(os.urandom(500))
    empty.write_bytes(b"")
    found = read(memory)
    assert set(reasons(found)) == {torn.name, noise.name, empty.name}
    assert len(found.leaves) == 3


def test_a_file_that_is_too_large_is_not_read(memory: Workspace, tree: Path) -> None:
    path = body_of(tree, ATLAS_FACTS[0])
    path.write_bytes(path.read_bytes() + b"x" * 5_000_000)
    assert reasons(read(memory)) == {path.name: "it is too large"}


def test_a_link_is_not_followed(memory: Workspace, tree: Path, tmp_path: Path) -> None:
    path = body_of(tree, ATLAS_FACTS[5])
    path.rename(tmp_path / "outside.md")
    path.symlink_to(tmp_path / "outside.md")
    assert reasons(read(memory)) == {path.name: "it is not a plain file"}


def test_a_copy_under_another_name_makes_no_second_leaf(memory: Workspace, tree: Path) -> None:
    path = body_of(tree, ATLAS_FACTS[5])
    path.with_name(f"{OTHER}.md").write_bytes(path.read_bytes())
    found = read(memory)
    assert reasons(found) == {f"{OTHER}.md": "its name is not its id"}
    assert len(found.leaves) == 6


def test_names_that_are_none_are_not_looked_at(memory: Workspace, tree: Path) -> None:
    path = body_of(tree, ATLAS_FACTS[5])
    for name in ("notes.md", f"{path.name}.tmp", f"{path.stem}.MD", "ﬁle.md"):
        (path.parent / name).write_bytes(path.read_bytes())
    found = read(memory)
    assert (len(found.leaves), found.problems) == (6, ())


@pytest.mark.parametrize("damage", ["truncated", "changed", "foreign", "huge head", "gone"])
def test_a_damaged_sidecar_is_as_good_as_none(memory: Workspace, tree: Path, damage: str) -> None:
    sidecar = tree / "tree.yaml"
    text = sidecar.read_text()
    changed = {
        "truncated": text[: len(text) // 2],
        "changed": text.replace("tops:", "tips:"),
        "foreign": text.replace(str(memory.pk), OTHER),
        "huge head": "a: " + "[" * 100_000,
    }
    if damage == "gone":
        sidecar.unlink()
    else:
        sidecar.write_text(changed[damage])
    found = read(memory)
    assert found.sidecar is None
    assert list(reasons(found)) == ["tree.yaml"]


def test_files_of_another_workspace_are_refused_all(memory: Workspace, tree: Path) -> None:
    found = read_tree(
        f"{memory.tenant.slug}/w/memory/interaction/atlas-gateway", workspace_id=uuid4()
    )
    assert (found.sidecar, found.leaves, found.summaries) == (None, {}, {})

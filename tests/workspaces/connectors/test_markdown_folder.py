"""A folder as it is found: what is read, what is left alone, and what stops nothing else."""

import os
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from holamem.errors import InvalidInput, Unavailable
from tests.workspaces.connectors.folders import MAY, allow, marks, reasons, scan, texts, write
from workspaces.connectors import folder_files
from workspaces.connectors.base import Progress
from workspaces.connectors.markdown_folder import MarkdownFolder
from workspaces.connectors.registry import kind_named


def test_markdown_files_are_found_at_any_depth_and_others_are_not(folder: Path) -> None:
    write(folder, "a.md", "One.")
    write(folder, "deep/er/b.markdown", "Two.")
    write(folder, "笔记/支付网关.MD", "支付网关监听 8443 端口。")
    write(folder, "c.txt", "Three.")
    write(folder, "md", "Four.")
    pages = scan(folder)
    assert texts(pages) == {
        "a.md": "One.",
        "deep/er/b.markdown": "Two.",
        "笔记/支付网关.MD": "支付网关监听 8443 端口。",
    }
    assert pages[-1].progress == Progress(seen=3, changed=3, total=3)
    assert pages[-1].cursor == {}


def test_the_time_of_a_file_is_when_it_was_so(folder: Path) -> None:
    write(folder, "a.md", "One.", at=MAY)
    [item] = scan(folder)[0].items
    assert item.occurred_at == MAY


def test_an_unchanged_file_is_not_even_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "a.md", "One.")
    known = marks(scan(folder))
    monkeypatch.setattr("workspaces.connectors.markdown_folder.read_file", None)
    [page] = scan(folder, known=known)
    assert (page.items, page.deletions, page.unchanged) == ((), (), {})
    assert page.progress == Progress(seen=1, total=1)


def test_a_file_that_was_only_touched_is_unchanged_and_marked_anew(folder: Path) -> None:
    write(folder, "a.md", "One.")
    known = marks(scan(folder))
    write(folder, "a.md", "One.", at=MAY + timedelta(hours=1))
    [page] = scan(folder, known=known)
    assert page.items == ()
    assert page.unchanged["a.md"] != known["a.md"]
    [again] = scan(folder, known=dict(page.unchanged))
    assert again.unchanged == {}


def test_a_change_under_the_same_time_and_size_is_seen_when_it_is_fresh(folder: Path) -> None:
    path = folder / "a.md"
    path.write_text("Port 1.")
    known = marks(scan(folder))
    state = path.stat()
    path.write_text("Port 2.")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert texts(scan(folder, known=known)) == {"a.md": "Port 2."}


def test_a_renamed_file_is_gone_and_new(folder: Path) -> None:
    path = write(folder, "a.md", "One.")
    known = marks(scan(folder))
    path.rename(folder / "b.md")
    [page] = scan(folder, known=known)
    assert texts([page]) == {"b.md": "One."}
    assert page.deletions == ("a.md",)
    assert page.progress == Progress(seen=1, changed=1, deleted=1, total=1)


def test_an_emptied_file_is_gone(folder: Path) -> None:
    write(folder, "a.md", "One.")
    known = marks(scan(folder))
    write(folder, "a.md", " \n", at=MAY + timedelta(hours=1))
    write(folder, "b.md", "")
    [page] = scan(folder, known=known)
    assert (page.items, page.deletions, page.failures) == ((), ("a.md",), ())


def test_many_changes_come_in_pages_and_the_last_one_ends_the_pass(folder: Path) -> None:
    for number in range(120):
        write(folder, f"{number:03}.md", f"Number {number}.")
    pages = scan(folder)
    assert [len(page.items) for page in pages] == [50, 50, 20]
    assert [bool(page.cursor) for page in pages] == [True, True, False]
    assert len(texts(pages)) == 120


def test_a_pass_that_was_cut_off_counts_on(folder: Path) -> None:
    for number in range(120):
        write(folder, f"{number:03}.md", f"Number {number}.")
    write(folder, "bad.md", b"\xff")
    whole = scan(folder)
    first = whole[0]
    rest = scan(folder, known=marks([first]), cursor=first.cursor)
    assert rest[-1].progress == whole[-1].progress
    assert {**texts([first]), **texts(rest)} == texts(whole)


HOSTILE = {
    "not utf-8": (b"caf\xe9", "The text is not UTF-8 (byte 3)."),
    "utf-16": ("你好".encode("utf-16"), "The text is not UTF-8 (byte 0)."),
    "null": (b"a\x00b", "The text holds a null character."),
    "tags": ("a\U000e0041b", "The text holds invisible tag characters."),
    "large": (b"x" * 10_000_000, "The file is larger than 1000000 bytes."),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_that_cannot_be_taken_is_named_and_the_rest_is_read(folder: Path, kind: str) -> None:
    content, reason = HOSTILE[kind]
    write(folder, "a.md", "One.")
    write(folder, "bad.md", content)
    write(folder, "z.md", "Two.")
    pages = scan(folder)
    assert texts(pages) == {"a.md": "One.", "z.md": "Two."}
    assert reasons(pages) == {"bad.md": reason}
    assert pages[-1].progress == Progress(seen=3, changed=2, failed=1, total=3)


def test_a_known_file_that_cannot_be_taken_any_more_is_not_gone(folder: Path) -> None:
    write(folder, "a.md", "One.")
    known = marks(scan(folder))
    write(folder, "a.md", b"\xff\xfe", at=MAY + timedelta(hours=1))
    [page] = scan(folder, known=known)
    assert page.deletions == ()
    assert list(reasons([page])) == ["a.md"]


def test_links_are_not_followed_wherever_they_lead(folder: Path) -> None:
    outside = write(folder.parent, "secret/outside.md", "Not yours.")
    write(folder, "a.md", "One.")
    (folder / "file.md").symlink_to(outside)
    (folder / "inside.md").symlink_to(folder / "a.md")
    (folder / "folder").symlink_to(outside.parent)
    (folder / "loop").symlink_to(folder)
    (folder / "self.md").symlink_to("self.md")
    assert texts(scan(folder)) == {"a.md": "One."}


def test_a_folder_that_becomes_a_link_while_it_is_read_leads_nowhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder.parent, "secret/b.md", "Not yours.")
    write(folder, "sub/b.md", "Mine.")
    listed = folder_files.list_files

    def swap(folder_fd: int) -> folder_files.Listing:
        found = listed(folder_fd)
        (folder / "sub").rename(folder.parent / "away")
        (folder / "sub").symlink_to(folder.parent / "secret")
        return found

    monkeypatch.setattr("workspaces.connectors.markdown_folder.list_files", swap)
    pages = scan(folder)
    assert texts(pages) == {}
    assert list(reasons(pages)) == ["sub/b.md"]


def test_pipes_and_folders_that_are_named_like_files_are_none(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    write(folder, "folder.md/inner.md", "One.")
    assert texts(scan(folder)) == {"folder.md/inner.md": "One."}


def test_a_name_that_is_not_utf_8_is_shown_escaped(folder: Path) -> None:
    write(folder, "a.md", "One.")
    with open(os.fsencode(folder) + b"/caf\xe9.md", "wb") as file:
        file.write(b"Two.")
    pages = scan(folder)
    assert texts(pages) == {"a.md": "One."}
    assert reasons(pages) == {"caf\\udce9.md": "The name is not UTF-8."}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("two\nlines.md", "The name holds control characters."),
        (f"{'d' * 200}/{'e' * 200}.md", "The name has more than 300 characters, or none."),
        ("sk-proj-" + "A1b2" * 12 + ".md", "The name holds a secret."),
    ],
)
def test_a_name_that_no_object_can_have_is_a_failure(folder: Path, name: str, reason: str) -> None:
    write(folder, name, "One.")
    write(folder, "z.md", "Two.")
    pages = scan(folder)
    assert texts(pages) == {"z.md": "Two."}
    assert list(reasons(pages).values()) == [reason]
    assert "A1b2" not in str(reasons(pages))


def test_a_file_that_changes_while_it_is_read_waits_for_the_next_pass(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder, "a.md", "One.")
    write(folder, "b.md", "Two.")
    read = folder_files.read_up_to

    def grow(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        if data.startswith(b"One."):
            path.write_bytes(data + b"!")
        return data

    monkeypatch.setattr(folder_files, "read_up_to", grow)
    pages = scan(folder)
    assert reasons(pages) == {"a.md": "The file changed while it was read."}
    monkeypatch.undo()


def test_a_file_that_is_saved_while_it_is_read_is_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder, "a.md", "One.")
    read = folder_files.read_up_to
    saves = ["Two."]

    def save(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        if saves:
            path.write_text(saves.pop())
        return data

    monkeypatch.setattr(folder_files, "read_up_to", save)
    assert texts(scan(folder)) == {"a.md": "Two."}


def test_a_known_file_that_may_not_be_read_any_more_is_a_failure_and_not_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "a.md", "One.")
    known = marks(scan(folder))
    write(folder, "a.md", "Two.", at=MAY + timedelta(hours=1))
    refuse_to_open(monkeypatch, "a.md")
    [page] = scan(folder, known=known)
    assert (page.items, page.deletions) == ((), ())
    assert reasons([page]) == {"a.md": "The file cannot be opened: Permission denied."}


def refuse_to_open(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As the system does for users whom the rights of a file keep out; root is kept out of none."""
    opened = folder_files._open_below

    def refuse(start_fd: int, parts: tuple[str, ...], *, flags: int) -> int:
        if parts == (name,):
            raise PermissionError(13, "Permission denied")
        return opened(start_fd, parts, flags=flags)

    monkeypatch.setattr(folder_files, "_open_below", refuse)


def test_files_below_a_folder_that_cannot_be_listed_are_not_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "sub/a.md", "One.")
    write(folder, "subway.md", "Two.")
    known = marks(scan(folder))
    (folder / "subway.md").unlink()
    refuse_to_open(monkeypatch, "sub")
    [page] = scan(folder, known=known)
    assert page.deletions == ("subway.md",)
    assert reasons([page]) == {"sub": "The folder cannot be listed: Permission denied."}


def test_folders_are_read_down_to_a_limit(folder: Path) -> None:
    deep = "/".join(["d"] * (folder_files.MAX_DEPTH + 1))
    write(folder, f"{deep}/a.md", "One.")
    write(folder, "b.md", "Two.")
    pages = scan(folder)
    assert texts(pages) == {"b.md": "Two."}
    assert reasons(pages) == {deep: "Folders are read 64 deep."}


def test_a_folder_that_is_not_there_is_no_empty_folder(folder: Path) -> None:
    write(folder, "a.md", "One.")
    known = marks(scan(folder))
    folder.rename(folder.parent / "away")
    with pytest.raises(Unavailable):
        scan(folder, known=known)


def test_without_roots_every_folder_is_refused_with_the_name_of_the_setting(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, "")
    with pytest.raises(InvalidInput) as refused:
        MarkdownFolder().validate_settings({"path": str(folder)}, tenant="t")
    assert "HOLAMEM_CONNECTOR_ROOTS" in refused.value.message
    assert refused.value.field == "settings.path"


@pytest.mark.parametrize(
    "path", ["/etc", "/", "/nowhere/at/all", "{root}/../..", "{root}/way-out", "{root}-not"]
)
def test_folders_elsewhere_are_refused_in_the_same_words(folder: Path, path: str) -> None:
    root = folder.parent
    (root / "way-out").symlink_to("/etc")
    with pytest.raises(InvalidInput) as refused:
        MarkdownFolder().validate_settings({"path": path.format(root=root)}, tenant="t")
    assert (
        refused.value.message == "The folder is under no root that HOLAMEM_CONNECTOR_ROOTS names."
    )


@pytest.mark.parametrize(
    "settings", [{}, {"path": ""}, {"path": 7}, {"path": "relative"}, {"path": "/a\x00b"}]
)
def test_a_path_that_is_none_is_refused(folder: Path, settings: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as refused:
        MarkdownFolder().validate_settings(settings, tenant="t")
    assert refused.value.field == "settings.path"


def test_a_setting_that_is_not_known_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        MarkdownFolder().validate_settings({"path": str(folder), "follow": True}, tenant="t")
    assert refused.value.field == "settings.follow"


def test_a_root_may_be_one_tenants_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, f"acme={folder.parent}")
    MarkdownFolder().validate_settings({"path": str(folder)}, tenant="acme")
    with pytest.raises(InvalidInput):
        MarkdownFolder().validate_settings({"path": str(folder)}, tenant="other")


def test_the_root_is_asked_again_at_every_pass(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "a.md", "One.")
    allow(monkeypatch, "/srv/elsewhere")
    with pytest.raises(InvalidInput):
        scan(folder)


def test_a_name_that_no_kind_has_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        kind_named("carrier_pigeon")
    assert refused.value.field == "kind"


def test_the_head_of_a_file_gives_title_and_time(folder: Path) -> None:
    write(folder, "a.md", "---\ntitle: Leave\ndate: 2026-01-05\ntags: [hr]\n---\n25 days a year.\n")
    [item] = scan(folder, zone=ZoneInfo("Asia/Shanghai"))[0].items
    assert item.title == "Leave"
    assert item.text == "# Leave\n\ntags:\n- hr\n\n25 days a year."
    assert item.occurred_at is not None
    assert item.occurred_at.isoformat() == "2026-01-05T00:00:00+08:00"

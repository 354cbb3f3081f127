"""Connected sources: a folder is added, read, read again and stopped from the page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.environment import get_environment
from tests.dashboard.memory import Filled, add_connector
from tests.dashboard.pages import Memory, count_queries, page_of
from tests.dashboard.people import make_person, signed_in_client
from tests.workspaces.memory import drain

ROOTS = "HOLAMEM_CONNECTOR_ROOTS"


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that may be connected, with one document."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "office.md").write_text("# Office\n\nThe office opens at nine.\n")
    monkeypatch.setenv(ROOTS, str(tmp_path))
    get_environment.cache_clear()
    yield folder
    monkeypatch.undo()
    get_environment.cache_clear()


def add(client: Client, memory: Memory | Filled, **data: str) -> str:
    address = memory.address("integrations/add/")
    return page_of(client.post(address, {"account": "office", **data}, follow=True))


def test_a_folder_is_connected_read_and_read_again(
    member: Client, memory: Memory, notes: Path
) -> None:
    page = add(member, memory, path=str(notes))
    assert "The folder is connected" in page
    assert "queued" in page
    assert "hx-trigger" in page
    drain(memory.workspace)
    done = page_of(member.get(memory.address("integrations/")))
    assert "markdown:office" in done
    assert "up to date" in done
    assert "1 of 1 seen" in done
    assert "hx-trigger" not in done
    (notes / "office.md").unlink()
    again = page_of(member.post(connector_address(memory, "sync/"), follow=True))
    assert "The sync is queued." in again
    drain(memory.workspace)
    held = page_of(member.get(memory.address("integrations/")))
    assert "One object is gone at the source. Nothing was deleted here" in held
    assert "Sync and delete" in held
    confirmed = {"allow_deletions": "yes"}
    member.post(connector_address(memory, "sync/"), confirmed, follow=True)
    drain(memory.workspace)
    done = page_of(member.get(memory.address("integrations/")))
    assert "1 gone" in done
    assert "Sync and delete" not in done


def connector_address(memory: Memory, action: str) -> str:
    with workspace_scope(memory.workspace, ALL_SCOPES):
        connector = memory.workspace.connectors.get()
    return memory.address(f"integrations/{connector.id}/{action}")


def test_a_stopped_source_keeps_what_it_brought(
    member: Client, memory: Memory, notes: Path
) -> None:
    add(member, memory, path=str(notes))
    drain(memory.workspace)
    page = page_of(member.post(connector_address(memory, "stop/"), follow=True))
    assert "What it brought is kept." in page
    assert "Sync now" not in page
    refused = page_of(member.post(connector_address(memory, "sync/"), follow=True))
    assert "This integration is stopped." in refused
    assert "markdown:office" in page_of(member.get(memory.address("trees/")))


def test_a_second_folder_under_the_same_name_is_refused(
    member: Client, memory: Memory, notes: Path
) -> None:
    add(member, memory, path=str(notes))
    again = add(member, memory, path=str(notes))
    assert "This account is connected already." in again
    assert str(notes) in again


@pytest.mark.parametrize("path", ["/etc", "notes", "../notes", ""])
def test_a_folder_elsewhere_is_refused_and_what_was_typed_stays(
    member: Client, memory: Memory, notes: Path, path: str
) -> None:
    page = add(member, memory, path=path)
    assert 'role="alert"' in page
    assert 'value="office"' in page
    with workspace_scope(memory.workspace, ALL_SCOPES):
        assert not memory.workspace.connectors.exists()


def test_without_an_allowed_folder_the_page_says_who_may_change_that(
    member: Client, memory: Memory
) -> None:
    page = page_of(member.get(memory.address("integrations/")))
    assert "HOLAMEM_CONNECTOR_ROOTS" in page
    assert "Add folder" not in page
    assert "curl" in page


def test_a_viewer_reads_the_page_and_changes_nothing(
    memory: Memory, member: Client, notes: Path
) -> None:
    add(member, memory, path=str(notes))
    viewer = signed_in_client(make_person(memory.tenant, role="viewer"))
    page = page_of(viewer.get(memory.address("integrations/")))
    assert "markdown:office" in page
    assert "Sync now" not in page
    assert "Add folder" not in page
    data = {"account": "x", "path": str(notes)}
    assert viewer.post(memory.address("integrations/add/"), data).status_code == 403
    for action in ("sync/", "stop/"):
        assert viewer.post(connector_address(memory, action)).status_code == 403


def test_a_source_of_another_tenant_is_not_found(
    memory: Memory, member: Client, owner: Client, filled: Filled, notes: Path
) -> None:
    add(member, memory, path=str(notes))
    for action in ("sync/", "stop/"):
        address = connector_address(memory, action)
        assert owner.post(address).status_code == 404
        # In a workspace of their own it is not there either.
        elsewhere = address.replace(memory.address(), filled.address())
        assert owner.post(elsewhere).status_code == 404


def test_the_page_costs_the_same_with_more_rows(member: Client, memory: Memory) -> None:
    address = memory.address("integrations/")
    add_connector(memory.workspace, "first")
    member.get(address)
    few = count_queries(member, address)
    add_connector(memory.workspace, "second")
    add_connector(memory.workspace, "third")
    assert count_queries(member, address) == few

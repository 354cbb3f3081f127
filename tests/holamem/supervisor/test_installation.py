"""The credentials of the first start stay, and come back when their file is lost."""

from pathlib import Path

from django.contrib.auth import authenticate

from holamem.supervisor.installation import (
    CREDENTIALS_FILE,
    ensure_credentials,
    memory_is_empty,
)


def test_a_later_start_shows_the_same_credentials(tmp_path: Path) -> None:
    first = ensure_credentials(tmp_path)

    assert ensure_credentials(tmp_path) == first
    assert (tmp_path / CREDENTIALS_FILE).stat().st_mode & 0o777 == 0o600


def test_a_lost_or_broken_file_is_replaced_by_credentials_that_work(tmp_path: Path) -> None:
    ensure_credentials(tmp_path)
    (tmp_path / CREDENTIALS_FILE).write_text("{")

    again = ensure_credentials(tmp_path)

    assert authenticate(username=again.admin_user, password=again.admin_password) is not None


def test_credentials_of_another_database_are_not_believed(tmp_path: Path) -> None:
    first = ensure_credentials(tmp_path)
    file = tmp_path / CREDENTIALS_FILE
    file.write_text(file.read_text().replace(f'"{first.tenant}"', '"elsewhere"'))

    assert ensure_credentials(tmp_path).tenant == first.tenant


def test_a_new_workspace_has_no_memory(tmp_path: Path) -> None:
    assert memory_is_empty(ensure_credentials(tmp_path))

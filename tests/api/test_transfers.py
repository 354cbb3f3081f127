"""Export and import over the API: a job, an archive to fetch, an archive that is sent."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from holamem.database.scope import system_scope
from holamem.environment import get_environment
from tests.api.client import Side, new_side
from tests.verification import assert_clean
from tests.workspaces.erasing import erased
from tests.workspaces.memory import draft, drain, remember
from workspaces.bodies import body_storage
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_workspace
from workspaces.services.transfer.transfers import sweep_transfers

BROKEN = b"PK\x03\x04 and nothing else"
FACT = "The Atlas gateway listens on port 8443."
ZIP = {"Content_Type": "application/zip"}


@pytest.fixture
def side() -> Side:
    side = new_side()
    remember(side.workspace, draft(FACT), draft("Pavel Orlov prefers tea.", minutes=1))
    return side


def export(side: Side) -> dict[str, Any]:
    asked = side.caller.post(f"{side.base}/export")
    assert asked.status_code == 202
    drain(side.workspace)
    told: dict[str, Any] = side.caller.get(
        f"{side.base}/exports/{asked.json()['export_id']}"
    ).json()
    return told


def fetch(side: Side, told: dict[str, Any]) -> bytes:
    answer = side.caller.get(f"{side.base}/exports/{told['export_id']}/archive")
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content)


def target_of(side: Side) -> Workspace:
    return create_workspace(side.tenant, slug="copy", name="Copy")


def test_a_workspace_is_exported_fetched_sent_and_answers_as_before(side: Side) -> None:
    told = export(side)
    assert (told["state"], told["is_kept"], told["error"]) == ("done", True, "")
    archive = fetch(side, told)
    assert len(archive) == told["archive_bytes"]
    copy = target_of(side)
    sent = side.caller.send("POST", "workspaces/copy/import", raw=archive, **ZIP)
    assert sent.status_code == 202, sent.content
    drain(copy)
    told = side.caller.get(f"workspaces/copy/imports/{sent.json()['import_id']}").json()
    assert (told["state"], told["kept_ids"], told["error"]) == ("done", False, "")
    assert told["rows"]["workspaces_sourceleaf"] == 2
    question = {"query": "Which port does the Atlas gateway listen on?"}
    answers = [
        side.caller.post(f"workspaces/{slug}/memory/retrieve", question).json()
        for slug in (side.workspace.slug, "copy")
    ]
    assert answers[0]["retrieval_pack"] == answers[1]["retrieval_pack"]
    assert side.caller.get("workspaces/copy/audit").json()["results"][0]["action"]
    assert_clean(copy)


def test_an_archive_is_sent_as_a_form_too(side: Side) -> None:
    archive = fetch(side, export(side))
    copy = target_of(side)
    form = encode_multipart(BOUNDARY, {"archive": SimpleUploadedFile("a.zip", archive)})
    sent = side.caller.send(
        "POST", "workspaces/copy/import", raw=form, Content_Type=MULTIPART_CONTENT
    )
    drain(copy)
    told = side.caller.get(f"workspaces/copy/imports/{sent.json()['import_id']}").json()
    assert told["state"] == "done"


def test_a_refused_import_says_why_and_keeps_nothing(side: Side) -> None:
    copy = target_of(side)
    sent = side.caller.send("POST", "workspaces/copy/import", raw=BROKEN, **ZIP).json()
    drain(copy)
    told = side.caller.get(f"workspaces/copy/imports/{sent['import_id']}").json()
    assert (told["state"], told["rows"]) == ("failed", {})
    assert told["error"].startswith("archive_refused")
    folder = f"{side.tenant.slug}/copy/transfers"
    assert body_storage().listdir(folder) == ([], [])
    again = side.caller.send("POST", "workspaces/copy/import", raw=BROKEN, **ZIP)
    assert again.status_code == 202


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/json", b"{}", 415),
        ("text/plain", b"x", 415),
        ("", b"", 415),
        ("application/zip", b"{}", 400),
        ("multipart/form-data; boundary=x", b"--x", 400),
        ("multipart/form-data", b"x", 400),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n',
            400,
        ),
    ],
)
def test_what_is_no_archive_in_form_is_refused_at_once(
    side: Side, content_type: str, body: bytes, status: int
) -> None:
    target_of(side)
    answer = side.caller.send("POST", "workspaces/copy/import", raw=body, Content_Type=content_type)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")


def test_a_larger_archive_than_is_allowed_is_refused(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    target_of(side)
    monkeypatch.setenv("HOLAMEM_IMPORT_MAX_BYTES", "1024")
    get_environment.cache_clear()
    answer = side.caller.send("POST", "workspaces/copy/import", raw=b"x" * 2000, **ZIP)
    monkeypatch.undo()
    get_environment.cache_clear()
    assert answer.status_code == 413


def test_an_upload_of_any_size_takes_an_idempotency_key(side: Side, settings: Any) -> None:
    """Also one that is too large to be held as other bodies are."""
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = len(BROKEN) - 1
    target_of(side)
    first, again, other = (
        side.caller.send("POST", "workspaces/copy/import", raw=body, Idempotency_Key="k", **ZIP)
        for body in (BROKEN, BROKEN, BROKEN + b".")
    )
    assert (first.status_code, again.json()) == (202, first.json())
    assert again["Idempotent-Replayed"] == "true"
    assert other.status_code == 422
    [kept] = body_storage().listdir(f"{side.tenant.slug}/copy/transfers")[1]
    assert first.json()["import_id"] in kept


def test_one_export_at_a_time(side: Side) -> None:
    first = side.caller.post(f"{side.base}/export")
    second = side.caller.post(f"{side.base}/export")
    assert (first.status_code, second.status_code) == (202, 409)


def test_an_archive_goes_with_the_first_erasure_and_after_a_day(side: Side) -> None:
    told = export(side)
    with system_scope():
        leaf = side.workspace.leaves.order_by("id")[0]
        [transfer] = side.workspace.transfers.all()
    path = transfer.archive_path
    assert body_storage().exists(path)
    erased(side.workspace, leaf.id)
    assert not body_storage().exists(path)
    address = f"{side.base}/exports/{told['export_id']}/archive"
    assert side.caller.get(address).status_code == 404
    later = export(side)
    with system_scope():
        side.workspace.transfers.update(created_at="2026-01-01T00:00:00Z")
    sweep_transfers()
    assert side.caller.get(f"{side.base}/exports/{later['export_id']}").json()["is_kept"] is False


def test_no_secret_is_in_an_archive(side: Side) -> None:
    token = str(side.caller.token)
    side.caller.post(f"{side.base}/webhooks", {"url": "http://localhost/hook"})
    archive = fetch(side, export(side))
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        names = packed.namelist()
        text = b"".join(packed.read(name) for name in names)
    assert not {f"tables/workspaces_{name}" for name in ("apikey", "webhook")} & set(names)
    assert token.encode() not in text
    assert token.rpartition("_")[2].encode() not in text


def test_commands_export_a_workspace_and_import_it_into_a_new_one(
    side: Side, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"tenant": side.tenant.slug}
    call_command("export", workspace=side.workspace.slug, to=tmp_path / "a.zip", **names)
    with pytest.raises(SystemExit) as ended:
        call_command("import", workspace="made", source=tmp_path / "a.zip", **names)
    assert ended.value.code in (0, 1)
    with system_scope():
        made = side.tenant.workspaces.get(slug="made")
        assert made.leaves.count() == 2
    with pytest.raises(CommandError, match="empty workspace"):
        call_command("import", workspace="made", source=tmp_path / "a.zip", **names)
    assert_clean(made)

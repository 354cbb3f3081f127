"""The journal beside the bodies: a restored backup does not bring back what was erased."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.files.base import ContentFile

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, eraser_scope, workspace_scope
from holamem.errors import StorageRefused
from tests.sampling import sampled
from tests.verification import assert_clean
from tests.workspaces.erasing import (
    english,
    erase,
    erased,
    leaf_of,
    payload_of,
    sealed_memory,
    statuses,
    workspace_of,
)
from tests.workspaces.memory import draft, drain, principal_of, remember, unfinished_jobs
from tests.workspaces.traces import assert_no_trace, english_canary, files_holding, tables_holding
from workspaces.bodies import body_storage, read_bytes
from workspaces.models.erasure import ErasedText
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.erasure.entry import journal_directory
from workspaces.services.erasure.journal import replay_erasures
from workspaces.services.intake import receive_events
from workspaces.verify.run import verify_workspace

Rows = list[dict[str, Any]]
TABLES = ("leaves", "summaries", "events", "chunks", "trees")


def entry_of(workspace: Workspace, erasure_id: UUID) -> dict[str, Any]:
    path = f"{journal_directory(workspace)}/{erasure_id}.json"
    found: dict[str, Any] = json.loads(read_bytes(path))
    return found


class Backup:
    """Rows and files of a workspace as they were, put back as a restore of an older dump would."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        with workspace_scope(workspace, ALL_SCOPES):
            self.rows = {name: list(getattr(workspace, name).values()) for name in TABLES}
        self.files = {
            row["body_path"]: read_bytes(row["body_path"])
            for name in ("leaves", "summaries")
            for row in self.rows[name]
            if body_storage().exists(row["body_path"])
        }
        self.files |= {
            f"{folder}/tree.yaml": read_bytes(f"{folder}/tree.yaml")
            for folder in {path.split("/leaves/")[0] for path in self.files if "/leaves/" in path}
        }

    def restore(self) -> None:
        """What is newer than the backup goes: erasures, their tombstones, and their jobs."""
        with eraser_scope():
            ErasedText.objects.filter(workspace=self.workspace).delete()
            self.workspace.erasures.all().delete()
            self.workspace.jobs.all().delete()
            self._forget_newer_summaries()
            for name in TABLES:
                for row in self.rows[name]:
                    getattr(self.workspace, name).filter(id=row["id"]).update(**row)
        self.restore_files()

    def restore_files(self) -> None:
        for path, data in self.files.items():
            body_storage().save(path, ContentFile(data))

    def _forget_newer_summaries(self) -> None:
        known = [row["id"] for row in self.rows["summaries"]]
        newer = self.workspace.summaries.exclude(id__in=known)
        for rows in (self.workspace.vector_entries, self.workspace.lexeme_entries):
            rows.filter(node_id__in=newer.values("id")).delete()
        self.workspace.leaves.filter(parent__in=newer).update(parent=None)
        newer._raw_delete(newer.db)  # what points to them is put back next


def test_each_erasure_leaves_one_file_of_ids_and_hashes(workspace: Workspace) -> None:
    word = english_canary()
    [result] = remember(workspace, draft(english(word), source="chat", external_id="m1"))
    done = erased(workspace, leaf_of(result))
    entry = entry_of(workspace, done.erasure_id)
    assert entry["target"] == {"kind": "leaf", "id": str(leaf_of(result))}
    assert entry["tombstones"]["leaves"][0]["leaf_id"] == str(leaf_of(result))
    assert entry["tombstones"]["events"] == [{"event_id": str(result.event_id), "spans": None}]
    assert {len(text["fingerprint"]) for text in entry["texts"]} == {64}
    assert "asked for" not in json.dumps(entry)
    assert word not in json.dumps(entry)


def test_a_restored_dump_loses_it_again(tenant: Tenant) -> None:
    workspace, word = workspace_of(tenant), english_canary()
    leaf_id = sealed_memory(workspace, english(word))
    backup = Backup(workspace)
    done = erased(workspace, leaf_id)
    backup.restore()
    assert statuses(workspace, leaf_id) == ["active"]
    assert "workspaces_event" in tables_holding(word)
    assert replay_erasures(workspace) == 1
    assert tables_holding(word) == []
    drain(workspace)
    assert_no_trace(word)
    assert erase(workspace, leaf_id).erasure_id == done.erasure_id
    assert unfinished_jobs(workspace) == []
    assert replay_erasures(workspace) == 0
    drain(workspace)
    assert [found.message for found in verify_workspace(workspace) if found.code == "S5"] == []


@pytest.mark.slow
def test_files_that_a_restore_brought_back_go_again(tenant: Tenant) -> None:
    """Also those of a subject that has lost its name, and with it its folder."""
    workspace, word, name = workspace_of(tenant), english_canary(), english_canary()
    leaf_id = sealed_memory(workspace, english(word))
    [other] = remember(workspace, draft(f"{name} owns the payroll system.", minutes=50))
    before = Backup(workspace)
    for gone in (leaf_id, leaf_of(other)):
        erased(workspace, gone)
    before.restore_files()
    assert files_holding(word)
    assert files_holding(name)
    replay_erasures(workspace)
    drain(workspace)
    assert_no_trace(word, name)
    assert_clean(workspace)


@pytest.mark.slow
def test_an_event_of_the_dump_that_was_not_judged_yet_stays_erased(workspace: Workspace) -> None:
    word = english_canary()
    [event_id] = receive_events(
        workspace, drafts=[draft(english(word))], principal=principal_of(workspace)
    ).event_ids
    with workspace_scope(workspace, ALL_SCOPES):
        row = workspace.events.values().get(id=event_id)
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        leaf_id = workspace.leaves.get().id
    erased(workspace, leaf_id)
    with eraser_scope():  # the dump is from before anybody took the event up
        ErasedText.objects.filter(workspace=workspace).delete()
        workspace.erasures.all().delete()
        workspace.events.filter(id=event_id).update(**row)
        workspace.jobs.filter(target_id=event_id).update(state="ready", attempts=0, done_at=None)
    assert payload_of(workspace, event_id) == english(word)
    assert replay_erasures(workspace) == 1
    assert payload_of(workspace, event_id) == ""
    drain(workspace)
    assert_no_trace(word)


def test_what_is_sent_again_after_a_restore_stays_erased(workspace: Workspace) -> None:
    """The dump is from before the event: only the tombstone of its text knows of it."""
    word = english_canary()
    item = draft(english(word), source="chat", external_id="m1")
    [result] = remember(workspace, item)
    erased(workspace, leaf_of(result))
    with eraser_scope():
        workspace.events.filter(id=result.event_id).update(external_id="other")
        ErasedText.objects.filter(workspace=workspace).delete()
        workspace.erasures.all().delete()
    replay_erasures(workspace)
    drain(workspace)
    [again] = remember(workspace, item)
    assert again.event_id != result.event_id
    assert [(c.outcome, c.reason) for c in again.chunks] == [("rejected", "erased")]
    assert_no_trace(word)
    assert_clean(workspace)


def test_nothing_is_replayed_where_nothing_was_erased(workspace: Workspace) -> None:
    remember(workspace, draft(english(english_canary())))
    assert replay_erasures(workspace) == 0
    assert unfinished_jobs(workspace) == []


def test_an_entry_of_another_workspace_is_not_passed_over(workspace: Workspace) -> None:
    path = f"{journal_directory(workspace)}/{workspace.id}.json"
    body_storage().save(path, ContentFile(b'{"format": 1, "workspace": "another"}'))
    with pytest.raises(ValueError, match="no erasure of this workspace"):
        replay_erasures(workspace)


def test_verify_names_an_erasure_that_does_not_end(workspace: Workspace) -> None:
    [result] = remember(workspace, draft(english(english_canary())))
    asked = erase(workspace, leaf_of(result))
    with workspace_scope(workspace, ALL_SCOPES):
        workspace.erasures.filter(id=asked.erasure_id).update(
            requested_at=now() - timedelta(hours=1)
        )
    assert "S6" in {finding.code for finding in verify_workspace(workspace)}
    drain(workspace)
    assert_clean(workspace)


def test_verify_names_words_and_files_that_came_back(workspace: Workspace) -> None:
    [result, _] = remember(
        workspace,
        draft(english(english_canary())),
        draft("The Atlas gateway supports HTTP/2 and gRPC.", minutes=1),
    )
    leaf_id = leaf_of(result)
    with workspace_scope(workspace, ALL_SCOPES):
        path = workspace.leaves.get(id=leaf_id).body_path
    erased(workspace, leaf_id)
    body_storage().save(path, ContentFile(b"words"))
    with eraser_scope():
        workspace.leaves.filter(id=leaf_id).update(title="words")
    found = [finding for finding in verify_workspace(workspace) if finding.code == "S5"]
    assert {finding.object for finding in found} == {f"leaf:{leaf_id}"}
    assert len(found) == 2
    replay_erasures(workspace)
    drain(workspace)
    assert not body_storage().exists(path)
    with eraser_scope():
        workspace.leaves.filter(id=leaf_id).update(title="")
    assert_clean(workspace)


@pytest.mark.slow
def test_an_erasure_that_no_worker_took_up_is_in_the_journal(tenant: Tenant) -> None:
    """The machine is lost right after the answer; the dump is from before the request."""
    workspace, word = workspace_of(tenant), english_canary()
    leaf_id = sealed_memory(workspace, english(word))
    backup = Backup(workspace)
    done = erase(workspace, leaf_id)
    assert entry_of(workspace, done.erasure_id)["target"]["id"] == str(leaf_id)
    backup.restore()
    assert replay_erasures(workspace) == 1
    drain(workspace)
    assert_no_trace(word)
    assert_clean(workspace)


@pytest.mark.parametrize("error", sampled([OSError, StorageRefused], fast=(OSError,)))
def test_a_body_store_that_is_down_does_not_hold_up_an_erasure(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    word = english_canary()
    [result] = remember(workspace, draft(english(word)))

    def refuse(*_: object, **__: object) -> str:
        raise error("The body store does not answer.")

    with monkeypatch.context() as down:
        down.setattr(body_storage(), "save", refuse)
        done = erase(workspace, leaf_of(result))
    assert statuses(workspace, leaf_of(result)) == ["erasing"]
    drain(workspace)
    assert entry_of(workspace, done.erasure_id)["target"]["id"] == str(leaf_of(result))
    assert_no_trace(word)
    assert_clean(workspace)

"""Idempotency-Key on writes: done once, answered as often as it is asked."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from tests.api.client import Caller, Side, codes, new_side
from tests.verification import assert_clean
from tests.workspaces.memory import draft, drain, remember
from workspaces.api import workspaces as views
from workspaces.models.log import IdempotencyRecord
from workspaces.services.housekeeping import remove_expired
from workspaces.services.tenants import update_workspace

KEY = {"Idempotency_Key": "k-1"}


def rename(side: Side, name: str = "Renamed", **headers: str) -> Any:
    return side.caller.send("PATCH", side.base, {"name": name}, **(headers or KEY))


def name_of(side: Side) -> str:
    return str(side.caller.get(side.base).json()["name"])


def expire_leases() -> None:
    with system_scope():
        running = IdempotencyRecord.objects.filter(answer_status=None)
        running.update(lease_until=now() - timedelta(seconds=1))


def records(side: Side) -> list[IdempotencyRecord]:
    with workspace_scope(side.workspace, ALL_SCOPES):
        return list(side.workspace.idempotency_records.all())


def patch_work(monkeypatch: pytest.MonkeyPatch, work: Callable[..., Any]) -> None:
    monkeypatch.setattr(views, "update_workspace", work)


def test_the_first_answer_is_given_again_byte_for_byte(side: Side) -> None:
    first = rename(side)
    rename(side, "Else", Idempotency_Key="k-2")
    again = rename(side)
    assert (again.status_code, again.content) == (200, first.content)
    assert again["Content-Type"] == first["Content-Type"]
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert name_of(side) == "Else"
    assert_clean(side.workspace)


def test_a_write_of_the_tenant_is_kept_without_a_workspace(side: Side) -> None:
    body = {"slug": "more", "name": "More"}
    first = side.caller.post("workspaces", body, **KEY)
    again = side.caller.post("workspaces", body, **KEY)
    assert (first.status_code, again.status_code, again.content) == (201, 201, first.content)
    gone = [side.caller.send("DELETE", "workspaces/more", **KEY) for _ in range(2)]
    assert gone[0].status_code == 204
    assert gone[1].status_code == 404, "what is not there any more is looked for first"


def test_another_body_or_query_is_422(side: Side) -> None:
    rename(side)
    assert codes(rename(side, "Else")) == {"": "idempotency_mismatch"}
    assert rename(side, "Else").status_code == 422
    assert name_of(side) == "Renamed"


def test_method_and_address_and_tenant_belong_to_the_key(side: Side) -> None:
    other = new_side()
    assert "Idempotent-Replayed" not in rename(side)
    assert "Idempotent-Replayed" not in rename(other, "Theirs")
    made = side.caller.post("workspaces", {"slug": "x", "name": "X"}, **KEY)
    assert made.status_code == 201
    assert (name_of(side), name_of(other)) == ("Renamed", "Theirs")


def test_while_the_first_runs_the_second_is_409(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def slow(*arguments: Any, **values: Any) -> Any:
        begun.set()
        assert may_end.wait(30)
        return update_workspace(*arguments, **values)

    patch_work(monkeypatch, slow)
    answers: list[Any] = []

    def first() -> None:
        answers.append(rename(side))
        connections.close_all()

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait(30)
    second = rename(side)
    may_end.set()
    thread.join(30)
    assert codes(second) == {"": "still_running"}
    assert second.status_code == 409
    assert int(second["Retry-After"]) >= 1
    assert answers[0].status_code == 200
    assert rename(side)["Idempotent-Replayed"] == "true"


def test_what_was_not_valid_or_not_allowed_is_not_kept(side: Side) -> None:
    wrong = side.caller.send("PATCH", side.base, {"name": 5}, **KEY)
    assert wrong.status_code == 400
    assert side.caller.post("workspaces", {"slug": side.workspace.slug, "name": "n"}, **KEY)
    assert records(side) == []
    assert rename(side).status_code == 200


def test_a_500_is_kept_only_when_the_work_was_committed(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    def before(*_: Any, **__: Any) -> Any:
        raise RuntimeError

    def after(*arguments: Any, **values: Any) -> Any:
        update_workspace(*arguments, **values)
        raise RuntimeError

    patch_work(monkeypatch, before)
    assert rename(side).status_code == 500
    assert records(side) == []
    patch_work(monkeypatch, after)
    assert rename(side).status_code == 500
    patch_work(monkeypatch, update_workspace)
    again = rename(side)
    assert (again.status_code, again["Idempotent-Replayed"]) == (500, "true")
    assert again["Content-Type"] == "application/problem+json"
    assert name_of(side) == "Renamed"


class Killed(BaseException):
    """Passes every handler, as the end of the process would."""


@pytest.mark.parametrize("is_done", [False, True])
def test_a_dead_requests_claim_is_taken_over_unless_its_work_was_done(
    side: Side, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    def dies(*arguments: Any, **values: Any) -> Any:
        if is_done:
            update_workspace(*arguments, **values)
        raise Killed

    patch_work(monkeypatch, dies)
    with pytest.raises(Killed):
        rename(side)
    patch_work(monkeypatch, update_workspace)
    assert rename(side).status_code == 409
    expire_leases()
    again = rename(side)
    if is_done:
        assert (again.status_code, codes(again)) == (500, {"": "answer_lost"})
    else:
        assert (again.status_code, name_of(side)) == (200, "Renamed")


def test_who_lost_the_claim_commits_nothing(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    def overtaken(*arguments: Any, **values: Any) -> Any:
        expire_leases()
        with system_scope():
            IdempotencyRecord.objects.filter(answer_status=None).update(lease_token=UUID(int=1))
        return update_workspace(*arguments, **values)

    patch_work(monkeypatch, overtaken)
    late = rename(side)
    assert (late.status_code, codes(late)) == (409, {"": "still_running"})
    assert name_of(side) == "Notes"


def test_erasure_takes_the_words_of_kept_answers(side: Side) -> None:
    result = remember(side.workspace, draft("Mirabel Okonkwo-Sato owns the Atlas gateway."))[0]
    leaf_id = result.chunks[0].leaf_id
    slug = str(result.chunks[0].tree_key).removeprefix("interaction:")
    path = f"{side.base}/entities/{slug}"
    body = {"description": "Looked after by Mirabel."}
    assert side.caller.send("PATCH", path, body, **KEY).status_code == 200
    assert rename(side).status_code == 200
    assert side.caller.post(f"{side.base}/leaves/{leaf_id}:erase").status_code == 202
    kept = "".join(row.answer_body + row.path for row in records(side))
    assert "Mirabel" not in kept
    assert "Renamed" in kept, "what says nothing of it is still given again"
    drain(side.workspace)
    assert codes(side.caller.send("PATCH", path, body, **KEY)) in (
        {"": "answer_erased"},
        {"": "not_found"},
    )
    assert_clean(side.workspace)


def test_answers_are_kept_for_a_day(side: Side) -> None:
    rename(side)
    with system_scope():
        IdempotencyRecord.objects.update(created_at=now() - timedelta(hours=25))
    remove_expired()
    assert records(side) == []


def test_a_key_that_cannot_be_one_is_refused(api: Caller, base: str) -> None:
    refused = api.send("PATCH", base, {"name": "n"}, Idempotency_Key="x" * 256)
    assert codes(refused) == {"Idempotency-Key": "invalid_idempotency_key"}

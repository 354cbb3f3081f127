"""Whichever operation of the write path fails, memory ends as if none had.

For k = 1, 2, 3 …: a fresh workspace; the k-th statement, commit's answer, file call or point
fails, once or from then on; the sweeper and a worker recover; every invariant holds; the caller
sends the same again. In the end memory is that of the run in which nothing failed.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError

from holamem import faults
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import HolamemError
from tests.faults.crash import end_pauses, is_killed_at, picture, recover
from tests.faults.failing import (
    Failing,
    Kind,
    answers_to_commits,
    file_calls,
    points,
    statements,
)
from tests.faults.test_crash_points import FACTS, receive, small_workspace
from tests.workspaces.memory import draft, drain, principal_of
from workspaces.bodies import TEMPORARY_SUFFIX, body_storage
from workspaces.models.tenancy import ApiKey, Workspace
from workspaces.services.api_keys import issue_key
from workspaces.services.intake import IdempotencyRequest, receive_events
from workspaces.services.tenants import create_tenant

# With two children a summary: a first leaf, a seal, a replacement of leaf and summary, a second
# seal with growth by a level, a duplicate, and another tree.
STORY = [
    draft("The Atlas gateway listens on port 8443.", source="chat", external_id="m1"),
    draft(
        "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00.",
        minutes=1,
        source="chat",
        external_id="m2",
    ),
    draft(
        "The deployment window of the Atlas gateway is now Tuesday from 10:00 to 12:00.",
        minutes=60,
        source="chat",
        external_id="m3",
    ),
    draft("Rate limits of the Atlas gateway live in Redis.", minutes=61),
    draft("The Atlas gateway listens on port 8443.", minutes=62),
    draft("北京办公室的打印机在三楼走廊尽头。", minutes=63, source="chat", external_id="m6"),
]
KINDS: dict[str, Kind] = {
    "statements": statements,
    "answers": answers_to_commits,
    "files": file_calls,
    "points": points,
}
# Of each kind a few places that lie in different steps; the sweep takes every one.
SAMPLES = {"statements": (61,), "answers": (17,), "files": (19,), "points": (23,)}
PARTS = 24  # of a sweep, each a test of its own
REFUSED = (DatabaseError, OSError, HolamemError, faults.InjectedFault)


class Caller:
    """Tells the story event by event, each request with its own idempotency key."""

    def __init__(self) -> None:
        tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
        self.workspace = small_workspace(tenant, "struck")
        issued = issue_key(tenant, name="key", permissions=list(ApiKey.Permission.values))
        self.key_id: UUID = issued.key.id

    def send(self, number: int) -> None:
        receive_events(
            self.workspace,
            drafts=[STORY[number]],
            principal=principal_of(self.workspace),
            idempotency=IdempotencyRequest(self.key_id, "/events", f"k-{number}", f"b-{number}"),
        )

    def tell(self, number: int) -> None:
        """One event, and the work that it makes."""
        self.send(number)
        drain(self.workspace)


def tell_all(kind: Kind, failing: Failing) -> Caller:
    caller = Caller()
    for number in range(len(STORY)):
        was_reached = failing.was_reached
        attempt(caller, number, kind=kind, failing=failing)
        if failing.was_reached and not was_reached:
            if failing.is_lasting:  # two attempts: one less than it takes to be parked
                end_pauses(caller.workspace)
                attempt(caller, number, kind=kind, failing=failing)
            failing.stop()
            recover(caller.workspace)
            caller.tell(number)
    return caller


def attempt(caller: Caller, number: int, *, kind: Kind, failing: Failing) -> None:
    with kind(failing), suppress(*REFUSED):
        caller.tell(number)


def memory_of(workspace: Workspace) -> dict[str, object]:
    return picture(workspace) | {"topology": topology(workspace)}


def topology(workspace: Workspace) -> list[object]:
    """Each tree from its root to the texts of its leaves, and what is in its buffer."""
    with workspace_scope(workspace, ALL_SCOPES):
        leaves = {leaf.id: leaf for leaf in workspace.leaves.all()}
        nodes = {node.id: node for node in workspace.summaries.exclude(status="retired")}
        trees = list(workspace.trees.order_by("key"))

    def shape(node_id: UUID) -> object:
        if node_id in leaves:
            return leaves[node_id].fingerprint
        return [shape(child_id) for child_id in nodes[node_id].child_ids]

    def buffer(tree_id: UUID) -> list[str]:
        waiting = [leaf for leaf in leaves.values() if leaf.tree_id == tree_id]
        return sorted(leaf.fingerprint for leaf in waiting if leaf.parent_id is None)

    return [
        (tree.key, shape(tree.root_id) if tree.root_id else None, buffer(tree.id)) for tree in trees
    ]


def temporary_files(workspace: Workspace) -> list[Path]:
    folder = Path(body_storage().path(f"{workspace.tenant.slug}/{workspace.slug}"))
    return list(folder.rglob(f"*{TEMPORARY_SUFFIX}"))


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, object]:
    never = Failing(at=10**9)
    seen = memory_of(tell_all(statements, never).workspace)
    assert sorted(height for _, height, _ in seen["trees"]) == [0, 2]  # type: ignore[attr-defined]
    return seen


def assert_survives(
    kind: str, *, at: int, is_lasting: bool, undisturbed: dict[str, object]
) -> bool:
    """False when there were fewer operations than that."""
    failing = Failing(at, is_lasting)
    workspace = tell_all(KINDS[kind], failing).workspace
    reached = failing.at == 0
    where = f"{kind} {at}"
    assert (where, memory_of(workspace)) == (where, undisturbed)
    assert temporary_files(workspace) == []
    return reached


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_operation_leaves_memory_as_if_it_had_not_failed(
    undisturbed: dict[str, object], kind: str
) -> None:
    for at in SAMPLES[kind]:
        assert assert_survives(kind, at=at, is_lasting=at % 2 == 0, undisturbed=undisturbed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_operation_may_fail(
    undisturbed: dict[str, object], kind: str, is_lasting: bool, part: int
) -> None:
    for at in count(1 + part, PARTS):
        if not assert_survives(kind, at=at, is_lasting=is_lasting, undisturbed=undisturbed):
            break


def struck_at_every_point() -> Iterator[dict[str, object]]:
    """A worker in a process of its own is killed at the first, second … point that it reaches."""
    for occurrence in count(1):
        tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
        workspace = small_workspace(tenant, "struck")
        receive(workspace, FACTS)
        is_killed = is_killed_at(workspace, "any", occurrence=occurrence)
        recover(workspace)
        yield memory_of(workspace)
        if not is_killed:
            return


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_worker_may_be_killed_at_every_point() -> None:
    pictures = list(struck_at_every_point())
    assert len(pictures) > len(FACTS) * 5
    for occurrence, seen in enumerate(pictures, 1):
        assert (occurrence, seen) == (occurrence, pictures[-1])  # the last was not killed


def test_the_end_of_a_sweep_is_noticed(undisturbed: dict[str, object]) -> None:
    assert not assert_survives("points", at=10**6, is_lasting=False, undisturbed=undisturbed)

"""Reading while summaries are switched: no answer lacks a leaf that was there, or a body."""

import threading
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, workspace_scope
from retrieval.browse import browse
from retrieval.definitions import BrowseRequest, RetrieveRequest
from retrieval.retrieve import retrieve
from tests.verification import assert_clean
from tests.workspaces.memory import ATLAS_FACTS, draft, remember
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.tenants import create_workspace

pytestmark = pytest.mark.slow  # readers for as long as a tree grows

READERS = 2
END_SECONDS = 60
FACTS = 15  # with four children a node three levels, which one answer shows
TREE = "interaction/interaction:atlas-gateway"


class Reader(threading.Thread):
    """Asks again and again, and keeps what was wrong with the answers."""

    def __init__(self, workspace: Workspace, known: list[UUID]) -> None:
        super().__init__(daemon=True)
        self.workspace = workspace
        self.known = known
        self.stopping = threading.Event()
        self.problems: list[str] = []
        self.answers = 0

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self.browse()
                self.ask()
                self.answers += 2
        except Exception as error:
            self.problems.append(repr(error))
            raise
        finally:
            connection.close()

    def browse(self) -> None:
        before = {str(leaf_id) for leaf_id in self.known}
        request = BrowseRequest(path=TREE, depth=3, limit=100)
        answer = browse(self.workspace, scopes=ALL_SCOPES, request=request).as_dict()
        seen = set(ids_in(answer["children"]))
        if missing := self.active(before - seen):
            self.problems.append(f"without {missing} of {len(before)} leaves")

    def active(self, leaf_ids: set[str]) -> int:
        """A leaf that was superseded is shown nowhere below its tree."""
        with workspace_scope(self.workspace, ALL_SCOPES):
            return self.workspace.leaves.filter(id__in=leaf_ids, status="active").count()

    def ask(self) -> None:
        request = RetrieveRequest(query="Which port does the Atlas gateway use?", reasoning="off")
        answer = retrieve(self.workspace, scopes=ALL_SCOPES, request=request)
        if "bodies" in answer.degraded:
            self.problems.append("a body could not be read")


def ids_in(children: list[dict[str, Any]]) -> list[str]:
    return [
        node_id
        for node in children
        for node_id in (str(node["node_id"]), *ids_in(node.get("children") or []))
    ]


def test_every_leaf_and_body_is_there_while_its_tree_is_sealed(tenant: Tenant) -> None:
    workspace = create_workspace(tenant, slug="read", name="Read", settings={"seal_threshold": 4})
    known: list[UUID] = []
    remember_one(workspace, known, 0)
    readers = [Reader(workspace, known) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    for number in range(1, FACTS):
        remember_one(workspace, known, number)
    for reader in readers:
        reader.stopping.set()
        reader.join(END_SECONDS)
    assert [reader.problems for reader in readers] == [[]] * READERS
    assert all(reader.answers > FACTS for reader in readers)
    assert_clean(workspace)


def remember_one(workspace: Workspace, known: list[UUID], number: int) -> None:
    [result] = remember(workspace, draft(ATLAS_FACTS[number], minutes=number))
    assert result.chunks[0].leaf_id is not None
    known.append(result.chunks[0].leaf_id)

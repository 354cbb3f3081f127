"""A small memory that a test may change, and what tests read in the pages of it."""

import re
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.workspaces.memory import draft, remember
from workspaces.models.tenancy import Tenant, Workspace


@dataclass(frozen=True, slots=True)
class Memory:
    tenant: Tenant
    workspace: Workspace
    leaf_id: UUID

    def address(self, rest: str = "") -> str:
        return f"/w/{self.tenant.slug}/{self.workspace.slug}/{rest}"


def one_leaf(workspace: Workspace, text: str, *, minutes: int = 0) -> UUID:
    """The leaf that a text becomes on the real write path."""
    result = remember(workspace, draft(text, minutes=minutes))[0]
    leaf_id = result.chunks[0].leaf_id
    assert leaf_id is not None, result
    return leaf_id


def page_of(response: HttpResponse) -> str:
    return response.content.decode()


def messages_in(page: str) -> str:
    return page.split('class="live')[1].split("<h1")[0]


def undo_in(part: str) -> str:
    """The address behind the first undo button of this part of a page."""
    found = re.search(r'action="([^"]+/undo/)"', part)
    assert found is not None, "nothing here can be undone"
    return found.group(1)


def id_in(address: str) -> UUID:
    return UUID(address.rstrip("/").rsplit("/", 1)[1])


def count_queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)

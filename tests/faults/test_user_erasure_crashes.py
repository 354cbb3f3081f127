"""The erasure of an end user that is killed at any point ends all the same, with a true receipt."""

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.api.client import caller_for
from tests.faults.crash import is_killed_at, recover
from tests.faults.test_erasure_crashes import REST, SAMPLED
from tests.verification import assert_clean
from tests.workspaces.erasing import english, workspace_of
from tests.workspaces.memory import ATLAS_FACTS, draft, principal_of, remember
from tests.workspaces.traces import assert_no_trace, english_canary, tables_holding
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.erasure.receipts import receipt
from workspaces.services.erasure.users import erase_end_user

PRIVATE = 4


def fill(workspace: Workspace, *, ref: str, word: str) -> None:
    """The same facts shared and private, a secret among the latter, and a conversation."""
    shared = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:3])]
    own = [draft(text, minutes=n, user_id=ref) for n, text in enumerate(ATLAS_FACTS[:3])]
    remember(workspace, *shared, *own, draft(english(word), minutes=9, user_id=ref))
    caller, base = caller_for(workspace.tenant), f"workspaces/{workspace.slug}"
    session = caller.post(f"{base}/sessions", {"user_id": ref, "title": f"About {word}"}).json()
    said = {"role": "user", "content": english(word)}
    told = caller.post(f"{base}/sessions/{session['session_id']}/messages", said)
    assert told.status_code < 300, told.content


@pytest.mark.slow
@pytest.mark.parametrize("at", [at for at, _ in (*SAMPLED, *REST)])
def test_a_killed_erasure_of_a_person_is_ended_by_the_next_worker(tenant: Tenant, at: str) -> None:
    workspace, word, ref = workspace_of(tenant), english_canary(), english_canary()
    fill(workspace, ref=ref, word=word)
    with workspace_scope(workspace, ALL_SCOPES):
        user = workspace.end_users.get(ref=ref)
        shared = workspace.leaves.filter(scope_id=workspace.id, status="active").count()
    asked = erase_end_user(workspace, principal=principal_of(workspace), user=user)
    assert is_killed_at(workspace, at), f"{at} was not reached"
    assert tables_holding(word) == []
    recover(workspace)
    assert_no_trace(word, ref)
    done = receipt(workspace, scopes=ALL_SCOPES, erasure_id=asked.erasure_id)
    assert (done.status, done.leaves) == ("complete", PRIVATE)
    with workspace_scope(workspace, ALL_SCOPES):
        left = workspace.leaves.filter(status="active")
        assert {leaf.scope_id for leaf in left} == {workspace.id}
        assert left.count() == shared
    assert_clean(workspace)

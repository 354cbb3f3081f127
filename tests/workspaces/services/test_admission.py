"""What an assistant says it did becomes memory only with a tool result that proves it."""

import pytest

from tests.verification import assert_clean
from tests.workspaces.memory import draft, remember
from workspaces.models.tenancy import Workspace

CLAIM = "I restarted the search service on node 4."


@pytest.mark.parametrize(
    ("tool_session", "claim_session", "outcome"),
    [("s-1", "s-1", "created"), ("s-1", "s-2", "rejected"), ("", "", "rejected")],
    ids=["the same session", "another session", "no session"],
)
def test_an_execution_is_proved_within_its_session(
    workspace: Workspace, tool_session: str, claim_session: str, outcome: str
) -> None:
    [proof] = remember(
        workspace,
        draft(
            "search restarted on node 4: exit code 0",
            kind="tool_result",
            succeeded=True,
            session=tool_session,
        ),
    )
    [claim] = remember(
        workspace,
        draft(
            CLAIM,
            minutes=1,
            kind="assistant_turn",
            session=claim_session,
            evidence_event_ids=(proof.event_id,),
        ),
    )
    [chunk] = claim.chunks
    assert chunk.outcome == outcome
    assert (chunk.reason == "no_execution") == (outcome == "rejected")
    assert_clean(workspace)

from uuid import UUID

import pytest

from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from holamem.ids import new_id
from retrieval.feedback import record_feedback
from retrieval.models import RetrievalLog
from tests.retrieval.asking import ask
from tests.retrieval.factories import MemoryMaker
from workspaces.models.tenancy import Workspace


def test_feedback_is_kept_with_the_retrieval(words_only: MemoryMaker) -> None:
    words_only.leaf("Atlas speaks gRPC.")
    retrieval_id = UUID(ask(words_only.workspace, "Does Atlas speak gRPC?")["retrieval_id"])

    for verdict in ("helpful", "wrong"):
        record_feedback(
            words_only.workspace,
            scopes=None,
            retrieval_id=retrieval_id,
            verdict=verdict,
            evidence_ids=["E1"],
        )

    with workspace_scope(words_only.workspace):
        entries = RetrievalLog.objects.get(id=retrieval_id).feedback
    assert [entry["verdict"] for entry in entries] == ["helpful", "wrong"]
    assert entries[0]["evidence_ids"] == ["E1"]


def test_feedback_on_an_unknown_retrieval_is_not_found(workspace: Workspace) -> None:
    with pytest.raises(NotFound):
        record_feedback(workspace, scopes=None, retrieval_id=new_id(), verdict="missing")

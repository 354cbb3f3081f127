"""What the asker thought of an answer, kept with the retrieval."""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from holamem.clock import now
from holamem.database.scope import workspace_scope
from holamem.errors import NotFound
from holamem.text.secrets import mask_secrets
from retrieval.types import Scopes
from workspaces.models.tenancy import Workspace

Verdict = Literal["helpful", "wrong", "missing"]
# Later words beyond this many say nothing new.
MAX_ENTRIES = 20


def record_feedback(
    workspace: Workspace,
    *,
    scopes: Scopes,
    retrieval_id: UUID,
    verdict: Verdict,
    evidence_ids: Sequence[str] = (),
    note: str = "",
) -> None:
    """Add one verdict; the last twenty are kept. Raises NotFound."""
    entry: dict[str, Any] = {
        "verdict": verdict,
        "evidence_ids": list(evidence_ids),
        "note": mask_secrets(note).text,
        "at": now().isoformat(),
    }
    with workspace_scope(workspace, scopes):
        log = workspace.retrievals.select_for_update().filter(id=retrieval_id).first()
        if log is None:
            raise NotFound("There is no such retrieval.")
        log.feedback = [*(log.feedback or []), entry][-MAX_ENTRIES:]
        log.save(update_fields=["feedback"])

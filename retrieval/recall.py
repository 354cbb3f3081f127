"""What memory says to a sentence that nobody asked it: a section for a prompt, and no trace."""

from holamem.ids import new_id
from retrieval.definitions import RetrieveRequest
from retrieval.investigate import anchor_of, investigate
from retrieval.stages.pack import build_pack
from retrieval.stages.prompt import render_prompt
from retrieval.trace import Trace
from retrieval.types import Scopes
from workspaces.models.tenancy import Workspace

# Levels at which a pack has no known facts.
TOO_LITTLE = ("none", "low")


def recall(workspace: Workspace, *, scopes: Scopes, request: RetrieveRequest) -> str:
    """The pack as text, marked as data; empty where memory has no facts on it.

    Extractive, and it writes nothing: a sentence is no question, so what memory does not know of
    it is no gap that somebody misses, and does not belong in the ledger.
    """
    anchor = anchor_of(workspace, request)
    found = investigate(workspace, scopes=scopes, request=request, anchor=anchor, trace=Trace())
    if found.judgement.level in TOO_LITTLE:
        return ""
    pack = build_pack(
        found.evidence,
        judgement=found.judgement,
        is_broad=found.intent.is_broad,
        anchor=anchor,
    )
    language = found.intent.reading.language
    return render_prompt(retrieval_id=new_id(), pack=pack, gaps=(), language=language)

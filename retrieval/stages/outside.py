"""When a time filter leaves no answer: is there one outside of it?"""

from dataclasses import replace

from retrieval.stages.calibration import LOW_BELOW, chance
from retrieval.stages.candidates import Candidates
from retrieval.stages.coverage import question_units, share_covered, traits_of
from retrieval.types import Question, Scopes
from workspaces.index.search import FoundNode, NodeFilter, SearchInput, search_nodes
from workspaces.models.tenancy import Workspace

# Enough to tell whether anything answers; nothing of it is returned.
PROBED = 20


def answers_outside(
    workspace: Workspace,
    *,
    scopes: Scopes,
    candidates: Candidates,
    where: NodeFilter,
    best_inside: float,
) -> bool:
    """One more statement, and only when the filter has a time and left no good evidence."""
    timed = any(moment is not None for moment in (*where.observed, *where.created))
    if not timed or best_inside >= LOW_BELOW:
        return False
    unbounded = replace(where, observed=(None, None), created=(None, None))
    search = SearchInput(
        terms=candidates.terms,
        vectors=candidates.vectors,
        model_name=candidates.model_name,
        leaf_limit=PROBED,
        summary_limit=0,
    )
    found = search_nodes(workspace, scopes=scopes, search=search, where=unbounded)
    probed = replace(candidates, found=found)
    return any(
        _support(node, index=index, question=question, candidates=probed) >= LOW_BELOW
        for node in found.nodes
        for index, question in enumerate(candidates.questions)
    )


def _support(node: FoundNode, *, index: int, question: Question, candidates: Candidates) -> float:
    """From the index alone, without reading a body."""
    units = question_units(question, candidates=candidates)
    counted = zip(candidates.terms, node.term_counts, strict=True)
    share = share_covered(units, {term for term, count in counted if count})
    cosine = node.cosines[index] if index < len(node.cosines) else None
    traits = traits_of(question, candidates=candidates)
    return chance(traits, share=share, sentence_share=share, cosine=cosine)

"""When a time filter leaves no answer: is there one outside of it?"""

from collections.abc import Sequence
from dataclasses import replace

from retrieval.stages.calibration import LOW_BELOW, chance
from retrieval.stages.candidates import Candidates
from retrieval.stages.residual import COVERED_FROM
from retrieval.stages.yardstick import Yardstick, make_yardsticks
from retrieval.types import Intent, Scopes
from workspaces.index.search import FoundNode, NodeFilter, SearchInput, search_nodes
from workspaces.models.tenancy import Workspace

# Enough to tell whether anything answers; nothing of it is returned.
PROBED = 20


def answers_outside(
    workspace: Workspace,
    *,
    scopes: Scopes,
    candidates: Candidates,
    intent: Intent,
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
    yardsticks = make_yardsticks(probed, intent=intent, rows=())
    return any(
        _support(node, index=index, yardstick=yardstick, terms=candidates.terms) >= LOW_BELOW
        for node in found.nodes
        for index, yardstick in enumerate(yardsticks)
    )


def _support(node: FoundNode, *, index: int, yardstick: Yardstick, terms: Sequence[str]) -> float:
    """From the index alone, without reading a body."""
    counted = zip(terms, node.term_counts, strict=True)
    share = yardstick.share({term for term, count in counted if count})
    if yardstick.subject is not None and share < COVERED_FROM:
        return 0.0
    cosine = node.cosines[index] if index < len(node.cosines) else None
    return chance(yardstick.traits, share=share, sentence_share=share, cosine=cosine)

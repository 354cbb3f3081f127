"""The judge that needs no model: general rules for English and Chinese."""

from collections.abc import Sequence

from workspaces.judging import extractive, offline_admission, offline_assignment, offline_comparison
from workspaces.judging.base import (
    Admission,
    Assignment,
    ChildView,
    ChunkContext,
    Comparison,
    EntityCandidate,
    LeafView,
    SummaryDraft,
)


class OfflineJudge:
    """Deterministic: the same input always gets the same judgement."""

    name = "offline"

    def admit(self, chunk: ChunkContext) -> Admission:
        return offline_admission.admit(chunk)

    def assign(self, chunk: ChunkContext, *, candidates: Sequence[EntityCandidate]) -> Assignment:
        return offline_assignment.assign(chunk, candidates=candidates)

    def compare(
        self, chunk: ChunkContext, *, subject_key: str, leaves: Sequence[LeafView]
    ) -> Comparison:
        return offline_comparison.compare(chunk, subject_key=subject_key, leaves=leaves)

    def summarise(
        self, *, tree_title: str, children: Sequence[ChildView], token_budget: int
    ) -> SummaryDraft:
        return extractive.summarise(
            tree_title=tree_title, children=children, token_budget=token_budget
        )

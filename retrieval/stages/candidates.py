"""Stage 3: nodes that may matter, by vector and by words, from the indexes only."""

import logging
from dataclasses import dataclass

from holamem.errors import HolamemError
from holamem.providers.registry import embedder
from retrieval.types import Question, Reading, Scopes
from workspaces.index.search import (
    LEAF_LIMIT,
    LEAF_LIMIT_WITH_NEIGHBOURS,
    MAX_TERMS,
    NEIGHBOUR_LIMIT,
    SUMMARY_LIMIT,
    SUMMARY_LIMIT_WITH_NEIGHBOURS,
    Found,
    NodeFilter,
    SearchInput,
    search_nodes,
)
from workspaces.models.tenancy import Workspace

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddedQuestions:
    """`vectors` follows the questions; empty when the model could not be used."""

    vectors: tuple[tuple[float, ...], ...]
    model_name: str
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """`terms` is what `FoundNode.term_counts` counts; `searched` says with what."""

    found: Found
    terms: tuple[str, ...]
    questions: tuple[Question, ...]
    vectors: tuple[tuple[float, ...], ...]
    model_name: str
    degraded: tuple[str, ...]

    def frequency_of(self, term: str) -> int:
        """Documents that hold the term; 0 for one that was beyond the limit of a query."""
        known = dict(zip(self.terms, self.found.document_frequencies, strict=True))
        return known.get(term, 0)


def embed_questions(reading: Reading) -> EmbeddedQuestions:
    """One vector a question. No transaction may be open: this may call a service."""
    try:
        client = embedder()
        vectors = tuple(tuple(client.embed_query(q.text)) for q in reading.questions)
        return EmbeddedQuestions(vectors, client.model_name, ())
    except HolamemError as error:
        logger.warning("retrieval.embedding_failed", extra={"code": error.code})
        return EmbeddedQuestions((), "", ("embedding",))


def find_candidates(
    workspace: Workspace,
    *,
    scopes: Scopes,
    reading: Reading,
    embedded: EmbeddedQuestions,
    where: NodeFilter,
) -> Candidates:
    """At most 320 nodes inside the filters, in one statement.

    Questions after exact evidence take leaves with what was said around them.
    """
    terms = search_terms(reading.questions)
    exact = reading.mode == "exact_evidence"
    search = SearchInput(
        terms=terms,
        vectors=embedded.vectors,
        model_name=embedded.model_name,
        leaf_limit=LEAF_LIMIT_WITH_NEIGHBOURS if exact else LEAF_LIMIT,
        summary_limit=SUMMARY_LIMIT_WITH_NEIGHBOURS if exact else SUMMARY_LIMIT,
        neighbour_limit=NEIGHBOUR_LIMIT if exact else 0,
    )
    found = search_nodes(workspace, scopes=scopes, search=search, where=where)
    pending = bool(embedded.vectors) and found.pending
    return Candidates(
        found=found,
        terms=terms,
        questions=reading.questions,
        vectors=embedded.vectors,
        model_name=embedded.model_name,
        degraded=embedded.degraded + (("embedding_pending",) if pending else ()),
    )


def search_terms(questions: tuple[Question, ...]) -> tuple[str, ...]:
    """The questions' terms without repeats, the first of each question first."""
    longest = max((len(question.terms) for question in questions), default=0)
    ordered = [
        question.terms[index]
        for index in range(longest)
        for question in questions
        if index < len(question.terms)
    ]
    return tuple(dict.fromkeys(ordered))[:MAX_TERMS]

"""What can be known of chunks before memory is asked: their session, admission and vector.

None of it depends on other chunks having been remembered, so it is worked out for several at
once; an embedder takes a batch in less time than its texts one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem.database.scope import reading_scope
from workspaces.index.embedding import current_model, embed_stored, passage_text
from workspaces.judging.base import Admission, ChunkContext, Judge
from workspaces.judging.offline import OfflineJudge
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.services.admission import admit_chunk, chunk_contexts
from workspaces.services.erasure.redaction import ERASED_REASON
from workspaces.services.erasure.texts import erased_chunks

WINDOW_CHUNKS = 16  # the embedder's batch; bounds what a worker that dies has worked out in vain


@dataclass(frozen=True, slots=True)
class Judged:
    """`vector` None: the chunk was not admitted, or there is none; `is_embedded` says which."""

    context: ChunkContext
    admission: Admission
    vector: list[float] | None
    is_embedded: bool = False


class Ahead:
    """Chunks of one scope in the order in which they are taken."""

    def __init__(
        self, workspace: Workspace, *, judge: Judge, waiting: Sequence[tuple[Event, Chunk]]
    ) -> None:
        self._workspace = workspace
        self._judge = judge
        self._waiting = list(waiting)
        self._judged: dict[UUID, Judged] = {}
        # A model's answers cost too much to be worked out in vain.
        self._window = WINDOW_CHUNKS if is_offline(judge) else 1

    def of(self, event: Event, chunk: Chunk) -> Judged:
        """Raises ProviderError when a model that judges is out."""
        if chunk.id not in self._judged:
            self._judged |= self._judge_all(self._next(chunk.id))
        if chunk.id not in self._judged:
            self._judged |= self._judge_all([(event, chunk)])
        return self._judged[chunk.id]

    def forget(self, chunk: Chunk) -> None:
        """It is settled: what was worked out for it takes memory no longer."""
        self._judged.pop(chunk.id, None)

    def _next(self, chunk_id: UUID) -> list[tuple[Event, Chunk]]:
        ids = [chunk.id for _, chunk in self._waiting]
        start = ids.index(chunk_id) if chunk_id in ids else len(ids)
        window = self._waiting[start : start + self._window]
        self._waiting = self._waiting[start + self._window :]
        return window

    def _judge_all(self, window: Sequence[tuple[Event, Chunk]]) -> dict[UUID, Judged]:
        contexts, gone = self._contexts(window)
        admissions = [
            Admission(0.0, ERASED_REASON)
            if chunk.id in gone
            else admit_chunk(context, event=event, judge=self._judge)
            for (event, chunk), context in zip(window, contexts, strict=True)
        ]
        vectors = self._vectors(window, admissions=admissions)
        return {
            chunk.id: Judged(
                context, admission, vectors.get(chunk.id) or None, is_embedded=chunk.id in vectors
            )
            for (_, chunk), context, admission in zip(window, contexts, admissions, strict=True)
        }

    def _contexts(
        self, window: Sequence[tuple[Event, Chunk]]
    ) -> tuple[list[ChunkContext], frozenset[UUID]]:
        """And the chunks whose words were erased since they were taken up: no model gets them."""
        if not window:
            return [], frozenset()
        with reading_scope(self._workspace, [window[0][0].scope_id]):
            gone = erased_chunks(self._workspace, waiting=window)
            contexts = chunk_contexts(self._workspace, waiting=window)
        return contexts, gone

    def _vectors(
        self, window: Sequence[tuple[Event, Chunk]], *, admissions: Sequence[Admission]
    ) -> dict[UUID, list[float]]:
        """Of the admitted ones; none of them while the embedder is out, and empty where it has none."""
        threshold = self._workspace.preferences.admission_threshold
        admitted = [
            (event, chunk)
            for (event, chunk), admission in zip(window, admissions, strict=True)
            if admission.confidence >= threshold and admission.reason != ERASED_REASON
        ]
        vectors = embed_stored(
            [passage_text(text=chunk.text, actor=event.actor) for event, chunk in admitted]
        )
        if any(vectors):
            current_model()  # recorded on its first use, which no reading step could do
        return {
            chunk.id: vector
            for (_, chunk), vector in zip(admitted, vectors, strict=True)
            if vector is not None
        }


def is_offline(judge: Judge) -> bool:
    """Whether its judgements take no call, so that a database step may stay open meanwhile."""
    return isinstance(judge, OfflineJudge)

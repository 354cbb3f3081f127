"""Taking leaves out of memory in one step: unread from its commit on, whatever comes after.

The rows lose their words here; files, links and traces follow in the job.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Q
from django.db.models.functions import Now

from holamem.clock import now
from holamem.database.scope import eraser_scope
from holamem.errors import Conflict
from holamem.text.segment import terms
from workspaces.index.entries import date_words, drop_entries
from workspaces.models.erasure import Erasure
from workspaces.models.jobs import Job
from workspaces.models.log import Chunk
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree
from workspaces.services.erasure.cleaners import ErasedMemory, clean_at_once
from workspaces.services.erasure.family import covering_ids
from workspaces.services.erasure.redaction import (
    ERASED_REASON,
    blank_events,
    chunks_of,
    erased_spans,
    events_with_text,
    redact_events,
    unused_chunks,
)
from workspaces.services.erasure.texts import Statement, bury, statement_of
from workspaces.services.topology import mark_chain_quarantined, request_seal

LOCK_TRIES = 4
Family = Callable[[], list[SourceLeaf]]


def lock_family(
    workspace: Workspace, *, family: Family, tree_ids: Iterable[UUID]
) -> list[SourceLeaf]:
    """Trees, then leaves, each in order of id; looked for again until no further tree is in it.

    `tree_ids`: where it is known to be. Raises Conflict when it keeps growing into other trees.
    """
    locked: set[UUID] = set()
    wanted = set(tree_ids)
    for _ in range(LOCK_TRIES):
        rows = workspace.trees.select_for_update().filter(id__in=wanted - locked).order_by("id")
        list(rows.values_list("id", flat=True))
        locked |= wanted
        found = family()
        wanted = {leaf.tree_id for leaf in found}
        if wanted <= locked:
            ids = [leaf.id for leaf in found]
            return list(workspace.leaves.select_for_update().filter(id__in=ids).order_by("id"))
    raise Conflict("This memory keeps changing; try again.")


def take_out(workspace: Workspace, *, erasure: Erasure, leaves: Sequence[SourceLeaf]) -> None:
    """Inside the caller's step, with the leaves and their trees locked. Saves the erasure, which
    may be a new one.

    First the workers that hold an older picture lose their leases: what they commit later would
    speak of the text again.
    """
    covers = _covers(workspace, leaves=leaves)
    nodes = [*(leaf.id for leaf in leaves), *(node.id for node in covers)]
    _fence(workspace, tree_ids={leaf.tree_id for leaf in leaves}, node_ids=nodes)
    entries = _count_entries(workspace, node_ids=nodes)
    spoken = _terms_of(workspace, leaves=leaves)
    parents = [leaf.parent_id for leaf in leaves]
    mark_chain_quarantined(workspace, start=[*(node.id for node in covers), *parents])
    drop_entries(workspace, node_ids=[leaf.id for leaf in leaves])
    _clear_rows(workspace, leaves=leaves, covers=covers)
    _recount(workspace, leaves=leaves)
    chunks, events = clear_log(workspace, erasure=erasure, leaves=leaves)
    memory = ErasedMemory(
        erasure.scope_id,
        [leaf.id for leaf in leaves],
        nodes,
        terms=spoken,
        is_whole_scope=erasure.is_whole_scope,
    )
    traces = clean_at_once(workspace, memory=memory)
    _note(
        workspace,
        erasure=erasure,
        leaves=leaves,
        covers=covers,
        events=events,
        counts=Counter(chunks=chunks, entries=entries, **traces),
    )


def _covers(workspace: Workspace, *, leaves: Sequence[SourceLeaf]) -> list[SummaryNode]:
    ids = covering_ids(
        workspace,
        tree_ids=sorted({leaf.tree_id for leaf in leaves}),
        leaf_ids=[leaf.id for leaf in leaves],
    )
    return list(workspace.summaries.filter(id__in=ids).defer("summary").order_by("id"))


def _fence(workspace: Workspace, *, tree_ids: Iterable[UUID], node_ids: Sequence[UUID]) -> None:
    """Passes over these trees and embeddings of these nodes; new work is queued afterwards.

    Waits for a commit that is under way, so that what follows sees its rows.
    """
    passes = Q(topic=Job.Topic.TREE_DIRTY, target_id__in=sorted(tree_ids))
    indexing = Q(topic=Job.Topic.NODE_CREATED, target_id__in=node_ids)
    workspace.jobs.filter(passes | indexing, state=Job.State.RUNNING).update(
        state=Job.State.DONE, done_at=Now(), lease_token=None, lease_until=None
    )


def _count_entries(workspace: Workspace, *, node_ids: Sequence[UUID]) -> int:
    vectors = workspace.vector_entries.filter(node_id__in=node_ids).values("id")
    words = workspace.lexeme_entries.filter(node_id__in=node_ids).values("id")
    return vectors.union(words).count()


def _terms_of(workspace: Workspace, *, leaves: Sequence[SourceLeaf]) -> list[str]:
    """What the search index knows of the leaves, without the days on which they were observed."""
    ids = [leaf.id for leaf in leaves]
    with connection.cursor() as cursor:
        cursor.execute(_TERMS, [workspace.pk, ids])
        found = {row[0] for row in cursor.fetchall()}
    days = {term for leaf in leaves for term in terms(date_words(leaf.observed_at))}
    return sorted(found - days)


# No lexeme of the scope: it stands beside the words of every entry.
_TERMS = """
SELECT DISTINCT term FROM workspaces_lexemeentry AS e, unnest(tsvector_to_array(e.lexemes)) AS term
 WHERE e.workspace_id = %s AND e.node_id = ANY(%s) AND NOT starts_with(term, '§')
"""


def _clear_rows(
    workspace: Workspace, *, leaves: Sequence[SourceLeaf], covers: Sequence[SummaryNode]
) -> None:
    """Only the eraser's role may change what a leaf or a summary says."""
    with eraser_scope():
        workspace.leaves.filter(id__in=[leaf.id for leaf in leaves]).update(
            status=SourceLeaf.Status.ERASING,
            title="",
            summary="",
            labels=[],
            subject_key="",
            actor="",
            updated_at=now(),
        )
        workspace.summaries.filter(id__in=[node.id for node in covers]).update(
            title="", summary="", labels=[]
        )


def _recount(workspace: Workspace, *, leaves: Sequence[SourceLeaf]) -> None:
    """By difference; a tree that is left without leaves is empty. Its summaries are due."""
    active = Counter(leaf.tree_id for leaf in leaves if leaf.status == SourceLeaf.Status.ACTIVE)
    for tree in workspace.trees.filter(id__in={leaf.tree_id for leaf in leaves}).order_by("id"):
        remaining = tree.leaf_count - active[tree.id]
        workspace.trees.filter(id=tree.id).update(
            leaf_count=F("leaf_count") - active[tree.id],
            status=Tree.Status.ACTIVE if remaining > 0 else Tree.Status.EMPTY,
            updated_at=now(),
        )
        request_seal(workspace, tree=tree)


def clear_log(
    workspace: Workspace, *, erasure: Erasure, leaves: Sequence[SourceLeaf]
) -> tuple[int, set[UUID]]:
    """Chunks and events of these leaves, and those with the same text that became no memory.

    Leaves a tombstone for every statement. Returns the number of chunks, and the events.
    """
    fed = chunks_of(workspace, leaves=leaves)
    unused = unused_chunks(
        workspace, scope_id=erasure.scope_id, fingerprints=[leaf.fingerprint for leaf in leaves]
    ).filter(event__received_at__lte=erasure.requested_at)
    chunks = {chunk.id: chunk for rows in (fed, unused) for chunk in rows.select_related("event")}
    statements = [*_statements(chunks.values(), leaves=leaves)]
    if any(chunk.outcome == Chunk.Outcome.PENDING for chunk in chunks.values()):
        workspace.chunks.filter(id__in=chunks, outcome=Chunk.Outcome.PENDING).update(
            outcome=Chunk.Outcome.REJECTED
        )
    workspace.chunks.filter(id__in=chunks).update(reason=ERASED_REASON, text="")
    events = {chunk.event_id for chunk in chunks.values()} | _source_events(workspace, leaves)
    redact_events(workspace, event_ids=events)
    waiting = _clear_waiting(workspace, erasure=erasure, events=events)
    bury(workspace, erasure=erasure, statements=statements)
    return len(chunks), events | waiting


def _statements(chunks: Iterable[Chunk], *, leaves: Sequence[SourceLeaf]) -> Iterable[Statement]:
    """One for each chunk, and one for a leaf that no chunk tells of, such as a correction."""
    told = {leaf.chunk_id: leaf.id for leaf in leaves}
    for chunk in chunks:
        leaf_id = told.get(chunk.id) or chunk.leaf_id
        yield statement_of(chunk.event, chunk.fingerprint, leaf_id)
    for leaf in leaves:
        yield Statement(leaf.fingerprint, leaf.id, None, "", leaf.observed_at)


def _source_events(workspace: Workspace, leaves: Sequence[SourceLeaf]) -> set[UUID]:
    links = workspace.leaf_sources.filter(leaf__in=[leaf.id for leaf in leaves])
    return set(links.values_list("event_id", flat=True))


def _clear_waiting(workspace: Workspace, *, erasure: Erasure, events: set[UUID]) -> set[UUID]:
    """Events that say the same as a whole and were not taken up yet."""
    digests = workspace.events.filter(id__in=events, payload_text="").values_list(
        "text_sha256", flat=True
    )
    waiting = events_with_text(workspace, scope_id=erasure.scope_id, digests=digests)
    if not waiting:
        return set()
    blank_events(workspace, event_ids=waiting)
    return set(waiting)


def _note(
    workspace: Workspace,
    *,
    erasure: Erasure,
    leaves: Sequence[SourceLeaf],
    covers: Sequence[SummaryNode],
    events: Iterable[UUID],
    counts: Counter[str],
) -> None:
    """Add to the tombstones and to the receipt; ids, hashes and places only."""
    known = erasure.tombstones
    erasure.tombstones = {
        "leaves": _merged(known, "leaves", map(_leaf_tombstone, leaves), key="leaf_id"),
        "summaries": _merged(known, "summaries", map(_summary_tombstone, covers), key="summary_id"),
        "events": _merged(
            known, "events", _event_tombstones(workspace, event_ids=set(events)), key="event_id"
        ),
    }
    merged = Counter(erasure.counts) + counts
    for name in ("leaves", "summaries", "events"):
        merged[name] = len(erasure.tombstones[name])
    merged["bodies"] = merged["leaves"] + merged["summaries"]
    erasure.counts = dict(merged)
    erasure.save()


def _merged(
    known: Mapping[str, Any], name: str, added: Iterable[Mapping[str, object]], *, key: str
) -> list[Mapping[str, object]]:
    """One entry a row, the first that was written: later ones would be of a row without words."""
    entries = {entry[key]: entry for entry in (*added, *known.get(name, []))}
    return [entries[row_id] for row_id in sorted(entries)]


def _event_tombstones(
    workspace: Workspace, *, event_ids: set[UUID]
) -> Iterator[Mapping[str, object]]:
    """`spans` is null for an event without its text, else the stretches that are covered."""
    shared = workspace.events.filter(id__in=event_ids).exclude(payload_text="")
    spans = erased_spans(workspace, event_ids=set(shared.values_list("id", flat=True)))
    for event_id in event_ids:
        yield {"event_id": str(event_id), "spans": spans.get(event_id)}


def _leaf_tombstone(leaf: SourceLeaf) -> dict[str, str]:
    return {
        "leaf_id": str(leaf.id),
        "tree_id": str(leaf.tree_id),
        "fingerprint": leaf.fingerprint,
        "body_sha256": leaf.body_sha256,
    }


def _summary_tombstone(node: SummaryNode) -> dict[str, str]:
    return {
        "summary_id": str(node.id),
        "tree_id": str(node.tree_id),
        "body_sha256": node.body_sha256,
    }

"""The head of a body: what a node was at birth, enough to make its row again.

Never its level or its path, which change, and never what comes later: that is mirrored beside
the tree. The checksum covers head and text, since the hash of the file is known to the row only.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from holamem.clock import now
from workspaces.models.entities import Entity
from workspaces.models.log import Chunk, Event
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree

CHECKSUM = "checksum"


@dataclass(frozen=True, slots=True)
class Birth:
    """What a leaf came from and was born with, beyond its own row.

    `newer_id` is the leaf that it was already history of, `ended_at` when its object stopped
    saying so. `proof_ids` are the successful tool results that prove what it claims.
    """

    event: Event
    chunk: Chunk
    decision: str = ""
    match_confidence: float | None = None
    create_confidence: float | None = None
    judged_by: str = ""
    secondary_ids: Sequence[UUID] = ()
    newer_id: UUID | None = None
    ended_at: datetime | None = None
    proof_ids: Sequence[UUID] = ()


def leaf_front_matter(
    leaf: SourceLeaf, *, tree: Tree, entity: Entity | None, birth: Birth | None
) -> dict[str, object]:
    return {
        **_node(leaf, kind="leaf", tree=tree),
        "entity": None if entity is None else _entity(entity),
        "origin": str(leaf.origin_kind),
        "session": leaf.session_ref,
        "actor": leaf.actor,
        "subject_key": leaf.subject_key,
        "confidence": leaf.confidence,
        "policies": {
            "verification": str(leaf.verification_policy),
            "staleness": str(leaf.staleness_policy),
            "stale_after_days": leaf.stale_after_days,
        },
        "supersedes": _id(leaf.supersedes_leaf_id),
        "moved_from": _id(leaf.moved_from_leaf_id),
        "history_of": _id(birth.newer_id if birth else leaf.superseded_by_id),
        "ended_at": _moment(birth.ended_at) if birth else None,
        "fingerprint": leaf.fingerprint,
        "secondary": [str(entity_id) for entity_id in birth.secondary_ids] if birth else [],
        "chunk": _chunk(birth) if birth else None,
        "event": _event(birth.event, proof_ids=birth.proof_ids) if birth else None,
    }


def summary_front_matter(node: SummaryNode, *, tree: Tree) -> dict[str, object]:
    return {
        **_node(node, kind="summary", tree=tree),
        "time_range": [node.time_range_start.isoformat(), node.time_range_end.isoformat()],
        "height": node.height,
        "provisional": node.provisional,
        "children": [str(child_id) for child_id in node.child_ids],
        "child_kind": str(node.child_kind),
        "child_set_sha256": node.child_set_sha256,
        "leaf_count": node.leaf_count,
        "replaces": _id(node.replaces_id),
        "model": node.model,
        "sealed_at": node.sealed_at.isoformat(),
    }


def with_checksum(front_matter: Mapping[str, object], *, markdown: str) -> dict[str, object]:
    return {**front_matter, CHECKSUM: checksum_of(front_matter, markdown=markdown)}


def checksum_of(front_matter: Mapping[str, object], *, markdown: str) -> str:
    """sha256 over the head as sorted JSON, without its checksum, and the markdown."""
    head = {name: value for name, value in front_matter.items() if name != CHECKSUM}
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    digest.update(b"\n")
    digest.update(markdown.encode())
    return digest.hexdigest()


def _node(node: SourceLeaf | SummaryNode, *, kind: str, tree: Tree) -> dict[str, object]:
    return {
        "id": str(node.id),
        "kind": kind,
        "workspace": str(node.workspace_id),
        "scope": str(node.scope_id),
        "tree": tree.key,
        "tree_id": str(tree.id),
        "category": str(node.category),
        "title": node.title,
        "summary": node.summary,
        "observed_at": node.observed_at.isoformat(),
        "created_at": now().isoformat(),
        "labels": list(node.labels),
        "language": node.language,
        "trust": node.trust,
    }


def _entity(entity: Entity) -> dict[str, object]:
    return {"id": str(entity.id), "type": str(entity.type), "name": entity.name}


def _chunk(birth: Birth) -> dict[str, object]:
    return {
        "id": str(birth.chunk.id),
        "position": birth.chunk.position,
        "start": birth.chunk.start,
        "end": birth.chunk.end,
        "reason": birth.chunk.reason,
        "decision": str(birth.decision),
        "match_confidence": birth.match_confidence,
        "create_confidence": birth.create_confidence,
        "judged_by": birth.judged_by,
    }


def _event(event: Event, *, proof_ids: Sequence[UUID]) -> dict[str, object]:
    return {
        "id": str(event.id),
        "kind": str(event.kind),
        "category": str(event.category),
        "source": event.source,
        "external_id": event.external_id,
        "provider": event.provider,
        "account": event.account,
        "agent": event.agent_ref,
        "run": event.run_ref,
        "text_sha256": event.text_sha256,
        "metadata": event.metadata,
        "succeeded": event.succeeded,
        "admission": event.admission_mode,
        "proofs": [str(event_id) for event_id in proof_ids],
        "occurred_at": _moment(event.occurred_at),
        "offset_minutes": event.offset_minutes,
        "received_at": event.received_at.isoformat(),
    }


def _id(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()

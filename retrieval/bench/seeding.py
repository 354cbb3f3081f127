"""Memories of any size at once: real texts with variation, their vectors plus noise.

The rows are those that the write path would have left behind, down to events and summaries. Bodies
hold a text without its variation, since many leaves share one file under names of their own.
"""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from holamem.ids import new_id
from holamem.providers.registry import embedder
from holamem.sample.conversations import LANGUAGES, turns
from holamem.text.normalise import fingerprint, normalise_name
from holamem.text.segment import terms_with_positions, to_tsvector_literal
from retrieval.bench.copying import Table, open_tables
from workspaces.bodies import WrittenBody, body_storage, render_body, save_bodies, written_body
from workspaces.index.embedding import current_model
from workspaces.index.entries import leaf_search_text, scope_lexeme
from workspaces.index.markers import markers_of
from workspaces.models.entities import Entity
from workspaces.models.index import LexemeEntry, VectorEntry
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import LeafSource, SourceLeaf, SummaryNode, Tree

LEAVES_PER_TREE = 100
LEAVES_PER_SUMMARY = 10
LEAVES_PER_SESSION = 20
WRITTEN_TOGETHER = 2_000
NOISE = 0.45  # beside a vector of length 1: a cosine of about 0.91 with what it was
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)

_PLACES = ("Atlas", "Borealis", "Cygnus", "Delphi", "Ember", "Falcon", "Gemini", "Helios")
_THINGS = ("gateway", "warehouse", "scheduler", "importer", "ledger", "console", "mirror", "queue")
_PLACES_ZH = ("北极星", "青鸟", "长江", "泰山", "昆仑", "太湖", "云杉", "白鹭")
_THINGS_ZH = ("网关", "仓库", "调度器", "导入器", "账本", "控制台", "镜像", "队列")


@dataclass(frozen=True, slots=True)
class Base:
    """A text of the sample with its vector and its body on disk."""

    text: str
    language: str
    actor: str
    terms: list[tuple[str, int]]
    vector: Any
    body: WrittenBody


class Seeder:
    """Makes the same memory on every call with the same sizes."""

    def __init__(self) -> None:
        self._chance = random.Random(1)  # noqa: S311 - nothing secret
        self._noise = np.random.default_rng(1)
        self._bases = _bases()
        self._links: set[Path] = set()

    def fill(self, workspace: Workspace, *, leaves: int, present: int = 0) -> None:
        """In steps of some thousand rows, from so many that it has filled in before."""
        tables = _tables(workspace)
        for start in range(present, leaves, WRITTEN_TOGETHER):
            end = min(start + WRITTEN_TOGETHER, leaves)
            rows = _Rows({name: [] for name in tables})
            for first in range(start, end, LEAVES_PER_TREE):
                self._tree(workspace, rows, numbers=range(first, min(first + LEAVES_PER_TREE, end)))
            with open_tables(tables.values()):
                for name, table in tables.items():
                    table.write(rows.by_table[name])

    def _tree(self, workspace: Workspace, rows: "_Rows", *, numbers: range) -> None:
        entity = self._entity(numbers.start // LEAVES_PER_TREE)
        slug, tree_id = str(entity["slug"]), new_id()
        rows.add("entity", entity)
        rows.add(
            "tree",
            {
                "id": tree_id,
                "key": f"interaction:system:{slug}",
                "title": entity["name"],
                "entity_id": entity["id"],
                "leaf_count": len(numbers),
                "height": 1,
            },
        )
        folder = f"{workspace.tenant.slug}/{workspace.slug}/memory/interaction/system:{slug}"
        place = _Place(workspace, tree_id, entity["id"], str(entity["name"]), folder)
        for first in range(0, len(numbers), LEAVES_PER_SUMMARY):
            parent_id = new_id()
            children = [
                self._leaf(rows, place, number=number, parent_id=parent_id)
                for number in numbers[first : first + LEAVES_PER_SUMMARY]
            ]
            self._summary(rows, place, node_id=parent_id, children=children)

    def _entity(self, number: int) -> dict[str, Any]:
        zh = number % 2 == 1
        place = self._chance.choice(_PLACES_ZH if zh else _PLACES)
        thing = self._chance.choice(_THINGS_ZH if zh else _THINGS)
        name = f"{place}{thing}{number}号" if zh else f"{place} {thing} {number}"
        return {
            "id": new_id(),
            "type": "system",
            "slug": f"seeded-{number}",
            "name": name,
            "normalised_name": normalise_name(name),
            "normalised_names": [normalise_name(name)],
        }

    def _leaf(self, rows: "_Rows", place: "_Place", *, number: int, parent_id: UUID) -> "_Child":
        base = self._bases[self._chance.randrange(len(self._bases))]
        variation = self._variation(base.language, number)
        text = f"{base.text} {variation}"
        moment = FIRST_DAY + timedelta(minutes=7 * number)
        session = {
            "session_ref": f"session-{number // LEAVES_PER_SESSION}",
            "actor": base.actor,
        }
        leaf_id, path = new_id(), f"{place.folder}/leaves/{new_id()}.md"
        chunk_id = _add_event(rows, leaf_id=leaf_id, text=text, moment=moment, session=session)
        self._link(base.body.path, path)
        leaf = {
            **session,
            "id": leaf_id,
            "tree_id": place.tree_id,
            "entity_id": place.entity_id,
            "parent_id": parent_id,
            "chunk_id": chunk_id,
            "title": text[:80],
            "summary": text,
            "body_path": path,
            "body_sha256": base.body.sha256,
            "body_bytes": base.body.size,
            "fingerprint": fingerprint(f"{number} {text}"),
            "observed_at": moment,
            "language": base.language,
        }
        rows.add("leaf", leaf)
        beside = leaf_search_text(
            text=variation, actor=base.actor, entity_names=[place.name], day=moment
        )
        terms = _joined([base.terms, terms_with_positions(beside)])
        entry = _Entry(leaf_id, "leaf", "active", terms, tuple(markers_of(text)))
        self._index(rows, place, entry=entry, vector=base.vector)
        return _Child(leaf_id, text, moment, terms)

    def _summary(
        self,
        rows: "_Rows",
        place: "_Place",
        *,
        node_id: UUID,
        children: Sequence["_Child"],
    ) -> None:
        base = self._bases[self._chance.randrange(len(self._bases))]
        path = f"{place.folder}/summaries/L2/{node_id}.md"
        self._link(base.body.path, path)
        rows.add(
            "summary",
            {
                "id": node_id,
                "tree_id": place.tree_id,
                "title": children[0].text[:80],
                "summary": children[0].text,
                "body_path": path,
                "body_sha256": base.body.sha256,
                "body_bytes": base.body.size,
                "child_ids": [child.leaf_id for child in children],
                "leaf_count": len(children),
                "observed_at": children[-1].moment,
                "time_range_start": children[0].moment,
                "time_range_end": children[-1].moment,
                "sealed_at": children[-1].moment,
            },
        )
        terms = _joined([child.terms for child in children])
        entry = _Entry(node_id, "summary", "sealed", terms)
        self._index(rows, place, entry=entry, vector=base.vector)

    def _index(self, rows: "_Rows", place: "_Place", *, entry: "_Entry", vector: Any) -> None:
        common: dict[str, Any] = {
            "node_id": entry.node_id,
            "tree_id": place.tree_id,
            "kind": entry.kind,
            "status": entry.status,
        }
        scope = scope_lexeme(place.workspace.pk, place.workspace.pk)
        literal = to_tsvector_literal(entry.terms, extra=[scope, *entry.markers])
        length = len(entry.terms)
        rows.add("lexemes", {**common, "id": new_id(), "length": length, "lexemes": literal})
        noise = self._noise.standard_normal(len(vector)) / np.sqrt(len(vector))
        noisy = vector + NOISE * noise
        rows.add("vector", {**common, "id": new_id(), "embedding": _literal(noisy)})

    def _variation(self, language: str, number: int) -> str:
        """A word of its own, two of a few, and a number: rare, common and in between."""
        zh = language == "zh"
        place = self._chance.choice(_PLACES_ZH if zh else _PLACES)
        thing = self._chance.choice(_THINGS_ZH if zh else _THINGS)
        code = f"{self._chance.randrange(1 << 28):07x}"
        if zh:
            return f"（{place}的{thing}，单号{code}，第{number}条）"
        return f"({place} {thing}, ticket {code}, note {number})"

    def _link(self, source: str, path: str) -> None:
        """Not durable: a measurement can be made again."""
        storage = body_storage()
        root, target = Path(storage.path("")), Path(storage.path(path))
        if target.parent not in self._links:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._links.add(target.parent)
        os.link(root / source, target)


@dataclass(frozen=True, slots=True)
class _Rows:
    by_table: dict[str, list[dict[str, Any]]]

    def add(self, table: str, row: dict[str, Any]) -> None:
        self.by_table[table].append(row)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the leaves of one tree belong."""

    workspace: Workspace
    tree_id: UUID
    entity_id: UUID
    name: str
    folder: str


@dataclass(frozen=True, slots=True)
class _Child:
    leaf_id: UUID
    text: str
    moment: datetime
    terms: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class _Entry:
    """What the index knows of a node."""

    node_id: UUID
    kind: str
    status: str
    terms: list[tuple[str, int]]
    markers: tuple[str, ...] = ()


def _joined(parts: Sequence[list[tuple[str, int]]]) -> list[tuple[str, int]]:
    """The terms of texts that stand one behind the other."""
    joined: list[tuple[str, int]] = []
    for terms in parts:
        start = joined[-1][1] if joined else 0
        joined += [(term, start + position) for term, position in terms]
    return joined


def _literal(vector: Any) -> str:
    """Of unit length, as the server reads it; pgvector's own writing takes ten times as long."""
    unit = (vector / np.linalg.norm(vector)).round(5)
    return f"[{','.join(map(str, unit.tolist()))}]"


def _add_event(
    rows: _Rows, *, leaf_id: UUID, text: str, moment: datetime, session: dict[str, str]
) -> UUID:
    """The event with its one chunk, whose id is returned."""
    event_id, chunk_id, mark = new_id(), new_id(), fingerprint(f"{leaf_id} {text}")
    rows.add(
        "event",
        {
            **session,
            "id": event_id,
            "payload_text": text,
            "text_sha256": mark,
            "occurred_at": moment,
            "received_at": moment,
        },
    )
    rows.add(
        "chunk",
        {
            "id": chunk_id,
            "event_id": event_id,
            "end": len(text),
            "fingerprint": mark,
            "leaf_id": leaf_id,
        },
    )
    rows.add("source", {"id": new_id(), "leaf_id": leaf_id, "event_id": event_id})
    return chunk_id


def _bases() -> list[Base]:
    said = [(turn.fields, language) for language in LANGUAGES for turn in turns(language)]
    texts = [str(fields["text"]) for fields, _ in said]
    vectors = embedder().embed_passages(texts)
    bases = []
    for number, ((fields, language), vector) in enumerate(zip(said, vectors, strict=True)):
        data = render_body({"language": language}, str(fields["text"]))
        path = f"seeded/{number}.md"
        save_bodies({path: data})
        body = written_body(path, data)
        actor = str(fields.get("actor", ""))
        text = str(fields["text"])
        terms = terms_with_positions(text)
        bases.append(Base(text, language, actor, terms, np.asarray(vector), body))
    return bases


def _tables(workspace: Workspace) -> dict[str, Table]:
    """In an order in which every row finds what it refers to."""
    own: dict[str, Any] = {"workspace": workspace, "scope_id": workspace.pk}
    spoken = {**own, "category": "interaction"}
    model = current_model()
    return {
        "entity": Table(Entity, **own),
        "tree": Table(Tree, **spoken),
        "event": Table(Event, **spoken, kind="user_message", status="processed"),
        "summary": Table(
            SummaryNode, **spoken, height=1, level=2, child_kind="leaf", model="offline"
        ),
        "leaf": Table(SourceLeaf, **spoken, origin_kind="user_message", confidence=0.9),
        "chunk": Table(
            Chunk,
            **own,
            position=0,
            start=0,
            outcome="created",
            decision="create_new",
            judged_by="bench",
        ),
        "source": Table(LeafSource, **own, is_creator=True),
        "lexemes": Table(LexemeEntry, **own),
        "vector": Table(VectorEntry, **own, model=model, source_sha256="0" * 64),
    }

"""What a row says otherwise in its new place, besides its ids."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.db.models import Model
from pgvector.django import HalfVectorField

from holamem.clock import now
from holamem.database.scope import system_scope
from workspaces.models.connectors import Connector
from workspaces.models.entities import Entity
from workspaces.models.index import EmbeddingModel, VectorEntry
from workspaces.models.jobs import Job
from workspaces.models.log import Event
from workspaces.models.tenancy import Audit, EndUser, Workspace
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree
from workspaces.services.transfer.bodies import Nodes
from workspaces.services.transfer.ids import IdMap
from workspaces.services.transfer.manifest import ArchiveRefused, ExportedFrom
from workspaces.services.transfer.tables import ExportTable, Row

ACTOR_CHARACTERS = 200
IMPORTED_ACTOR = "imported:"
# What an entity without a name is called: by the end of its id.
_ERASED_NAME = re.compile(r"erased-([0-9a-f]{12})")
_NAMED_COLUMNS = ("name", "normalised_name", "slug", "key", "title")

Change = Callable[[Row], Row | None]


class Changes:
    """One import. `trees` and `unembedded` are filled by it: id and scope of each."""

    def __init__(
        self, workspace: Workspace, *, manifest: ExportedFrom, ids: IdMap, nodes: Nodes
    ) -> None:
        self.workspace = workspace
        self.ids = ids
        self.trees: list[tuple[str, str]] = []
        self.unembedded: list[tuple[str, str]] = []
        self._nodes = nodes
        self._vectors = _known_vectors(manifest)
        self._jobs: set[tuple[str, str]] = set()
        self._names = {
            f"{number & 0xFFFFFFFFFFFF:012x}": f"{(number ^ ids.change) & 0xFFFFFFFFFFFF:012x}"
            for number in (ids.known if ids.change else ())
        }
        self._changes: dict[type[Model], Change] = {
            EndUser: self._user,
            Entity: self._named,
            Event: self._event,
            Tree: self._tree,
            SourceLeaf: self._node,
            SummaryNode: self._summary,
            Connector: _connector,
            VectorEntry: self._vector,
            Audit: self._audit,
            Job: self._job,
        }

    def of(self, table: ExportTable) -> Change:
        """None for a row that is left out."""
        if table.changing is not None:
            return table.changing()
        known = self._changes.get(table.model)
        return known or partial(self._without_strange_vectors, _vector_columns(table))

    def _without_strange_vectors(self, columns: Sequence[str], row: Row) -> Row:
        return row if self._vectors else {**row, **dict.fromkeys(columns)}

    def _user(self, row: Row) -> Row:
        return {**row, "ref": self.ids.text(str(row["ref"]))}

    def _named(self, row: Row) -> Row:
        changed = {name: self._name(row[name]) for name in _NAMED_COLUMNS if name in row}
        if "normalised_names" in row:
            changed["normalised_names"] = [self._name(name) for name in row["normalised_names"]]
        return {**row, **changed}

    def _name(self, text: Any) -> Any:
        def renamed(match: re.Match[str]) -> str:
            return f"erased-{self._names.get(match[1], match[1])}"

        return _ERASED_NAME.sub(renamed, text) if isinstance(text, str) else text

    def _event(self, row: Row) -> Row:
        """What a worker had in work is taken up again."""
        is_in_work = row["status"] == Event.Status.PROCESSING
        return {**row, "status": Event.Status.RECEIVED, "attempts": 0} if is_in_work else row

    def _tree(self, row: Row) -> Row:
        self.trees.append((row["id"], row["scope_id"]))
        return {**self._named(row), "mirrored_state": ""}

    def _node(self, row: Row) -> Row:
        node = self._nodes.by_id[row["id"]]
        body = {"body_path": node.path, "body_sha256": node.sha256, "body_bytes": node.size}
        return {**row, **body}

    def _summary(self, row: Row) -> Row:
        child_set = self._nodes.by_id[row["id"]].child_set_sha256
        return {**self._node(row), "child_set_sha256": child_set}

    def _vector(self, row: Row) -> Row | None:
        """A vector of another model means nothing here: its node is embedded anew."""
        node = self._nodes.by_id.get(row["node_id"])
        if node is None:
            raise ArchiveRefused("The archive holds a vector of no node.")
        model_id = self._vectors.get(str(row["model_id"]))
        if model_id is None:
            self.unembedded.append((row["node_id"], row["scope_id"]))
            return None
        return {**row, "model_id": model_id, "source_sha256": node.sha256}

    def _audit(self, row: Row) -> Row:
        """Marked, since nobody here can vouch for who it was."""
        actor = f"{IMPORTED_ACTOR}{str(row['actor']).removeprefix(IMPORTED_ACTOR)}"
        tenant = str(self.workspace.tenant_id)
        return {**row, "tenant_id": tenant, "actor": actor[:ACTOR_CHARACTERS]}

    def _job(self, row: Row) -> Row | None:
        """Ready, or parked as it was; of two for the same work one."""
        is_parked = row["state"] == Job.State.PARKED
        key = (str(row["topic"]), row["target_id"])
        if not is_parked and key in self._jobs:
            return None
        if not is_parked:
            self._jobs.add(key)
        return {
            **row,
            "state": Job.State.PARKED if is_parked else Job.State.READY,
            "attempts": row["attempts"] if is_parked else 0,
            "next_try_at": now().isoformat(),
            "lease_token": None,
            "lease_until": None,
            "error": str(row["error"]) if is_parked else "",
        }


def _vector_columns(table: ExportTable) -> list[str]:
    fields = table.model._meta.concrete_fields
    return [field.attname for field in fields if isinstance(field, HalfVectorField)]


def _connector(row: Row) -> Row:
    """Off: what it read there may be something else here, or gone, which would empty its tree."""
    return {**row, "enabled": False, "status": Connector.Status.IDLE, "cursor": {}, "progress": {}}


def _known_vectors(manifest: ExportedFrom) -> dict[str, int]:
    """Our id of each model of the archive that is the one in use here."""
    with system_scope():
        ours = {
            (model.name, model.dimension): model.pk
            for model in EmbeddingModel.objects.filter(is_current=True)
        }
    found = {old: ours.get((name, size)) for old, (name, size) in manifest.vectors.items()}
    return {old: new for old, new in found.items() if new is not None}

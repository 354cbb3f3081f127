"""Which tables belong to a workspace's archive. Each app registers its own.

Left out are keys, invitations, webhooks, answers kept for idempotency, circuits, usage and
transfers: they are secrets, or belong to the installation and not to the memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, Q, QuerySet

from workspaces.models.connectors import Connector, ConnectorObject
from workspaces.models.entities import Entity
from workspaces.models.erasure import ErasedText, Erasure
from workspaces.models.index import LexemeEntry, VectorEntry
from workspaces.models.jobs import Job
from workspaces.models.log import Chunk, Event
from workspaces.models.merges import EntityMerge, MergedLeaf
from workspaces.models.tenancy import Audit, EndUser, Workspace
from workspaces.models.trees import (
    LeafEntity,
    LeafSource,
    SourceLeaf,
    SummaryNode,
    Tree,
)

Row = dict[str, Any]  # by column, as JSON has it


@dataclass(frozen=True, slots=True)
class ExportTable:
    """`wanted` chooses rows. A workspace that has rows of a table that is not `may_be_there` is
    no place to import into, unless they are `replaced` by those of the archive. `obstacle` says
    in words why this cannot be exported now, or "".

    `changing` gives what changes each row of one import, in their order, for its new place.
    Ids in the columns of `as_it_was` stay.
    """

    model: type[Model]
    wanted: Q | None = None
    may_be_there: bool = False
    replaced: Q | None = None
    obstacle: Callable[[Workspace], str] | None = None
    changing: Callable[[], Callable[[Row], Row]] | None = None
    order: str = "pk"
    as_it_was: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.model._meta.db_table

    @property
    def columns(self) -> list[str]:
        return [field.attname for field in self.model._meta.concrete_fields]

    def rows_in_the_way(self, workspace: Workspace) -> QuerySet[Any]:
        found = self.model._default_manager.filter(workspace=workspace)
        if self.may_be_there:
            return found.none()
        return found if self.replaced is None else found.exclude(self.replaced)

    def rows(self, workspace: Workspace) -> QuerySet[Any]:
        """Inside the caller's step."""
        found = self.model._default_manager.filter(workspace=workspace)
        return (found if self.wanted is None else found.filter(self.wanted)).order_by(self.order)


def _no_unfinished_erasure(workspace: Workspace) -> str:
    open_ones = workspace.erasures.exclude(status=Erasure.Status.COMPLETE)
    return "An erasure is under way." if open_ones.exists() else ""


# Work that goes on elsewhere; deliveries, syncs and erasures stay with this installation.
JOB_TOPICS = (
    Job.Topic.EVENT_RECEIVED,
    Job.Topic.TREE_DIRTY,
    Job.Topic.TREE_REINDEX,
    Job.Topic.NODE_CREATED,
    Job.Topic.NODE_INDEXED,
    Job.Topic.NODE_RETIRED,
    Job.Topic.ENTITY_CHANGED,
    Job.Topic.ENTITY_NAMES,
    Job.Topic.ENTITY_MERGE,
)
UNFINISHED = (Job.State.READY, Job.State.RUNNING, Job.State.PARKED)

_tables: list[ExportTable] = [
    ExportTable(EndUser),
    ExportTable(Entity),
    ExportTable(Event),
    ExportTable(Chunk),
    ExportTable(Tree),
    ExportTable(SourceLeaf),
    ExportTable(SummaryNode),
    ExportTable(LeafSource),
    ExportTable(LeafEntity),
    ExportTable(EntityMerge),
    ExportTable(MergedLeaf),
    ExportTable(Connector),
    ExportTable(ConnectorObject),
    ExportTable(Erasure, obstacle=_no_unfinished_erasure),
    ExportTable(ErasedText),
    ExportTable(VectorEntry),
    ExportTable(LexemeEntry),
    ExportTable(Audit, may_be_there=True),
    ExportTable(Job, wanted=Q(topic__in=JOB_TOPICS, state__in=UNFINISHED), may_be_there=True),
]


def register_tables(tables: Sequence[ExportTable]) -> None:
    """An app above adds its own, once, when it is ready."""
    _tables.extend(tables)


def export_tables() -> list[ExportTable]:
    """End users come first: the scopes of all other rows are theirs or the workspace's."""
    return list(_tables)

"""All models of the app, for Django's registry; code imports from the defining module."""

from workspaces.models.circuits import Circuit
from workspaces.models.connectors import Connector, ConnectorObject
from workspaces.models.entities import Entity
from workspaces.models.erasure import ErasedText, Erasure
from workspaces.models.index import EmbeddingModel, LexemeEntry, VectorEntry
from workspaces.models.jobs import Job
from workspaces.models.log import Chunk, Event, IdempotencyRecord
from workspaces.models.merges import EntityMerge, MergedLeaf
from workspaces.models.tenancy import (
    ApiKey,
    Audit,
    EndUser,
    Invitation,
    Membership,
    Tenant,
    Workspace,
)
from workspaces.models.transfers import Transfer
from workspaces.models.trees import (
    LeafEntity,
    LeafSource,
    RetiredBody,
    SourceLeaf,
    SummaryNode,
    Tree,
)
from workspaces.models.usage import ModelCall, UsageDay
from workspaces.models.webhooks import Webhook, WebhookDelivery

__all__ = [
    "ApiKey",
    "Audit",
    "Chunk",
    "Circuit",
    "Connector",
    "ConnectorObject",
    "EmbeddingModel",
    "EndUser",
    "Entity",
    "EntityMerge",
    "ErasedText",
    "Erasure",
    "Event",
    "IdempotencyRecord",
    "Invitation",
    "Job",
    "LeafEntity",
    "LeafSource",
    "LexemeEntry",
    "Membership",
    "MergedLeaf",
    "ModelCall",
    "RetiredBody",
    "SourceLeaf",
    "SummaryNode",
    "Tenant",
    "Transfer",
    "Tree",
    "UsageDay",
    "VectorEntry",
    "Webhook",
    "WebhookDelivery",
    "Workspace",
]

"""Django admin of workspaces; importing this package registers every model."""

from workspaces.admin import (
    connectors,
    erasures,
    events,
    jobs,
    merges,
    queue,
    search,
    tenancy,
    transfers,
    trees,
    usage,
    webhooks,
)

__all__ = [
    "connectors",
    "erasures",
    "events",
    "jobs",
    "merges",
    "queue",
    "search",
    "tenancy",
    "transfers",
    "trees",
    "usage",
    "webhooks",
]

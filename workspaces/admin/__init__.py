"""Django admin of workspaces; importing this package registers every model."""

from workspaces.admin import events, jobs, queue, search, tenancy, trees

__all__ = ["events", "jobs", "queue", "search", "tenancy", "trees"]

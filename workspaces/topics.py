"""The job topics that this app handles."""

from workspaces.models.jobs import Job
from workspaces.services.indexing import index_node
from workspaces.services.jobs import register_handler
from workspaces.services.processing import process_event
from workspaces.services.sealing import seal_tree


def register() -> None:
    """Called once when the app is ready."""
    register_handler(Job.Topic.EVENT_RECEIVED, process_event)
    register_handler(Job.Topic.TREE_DIRTY, seal_tree)
    register_handler(Job.Topic.NODE_CREATED, index_node)

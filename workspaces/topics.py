"""The job topics that this app handles."""

from functools import partial

from workspaces.models.jobs import Job
from workspaces.services.corrections.rejudge import rejudge_fallback
from workspaces.services.entities.merge_run import run_merge
from workspaces.services.entities.refresh import refresh_names
from workspaces.services.erasure.complete import complete_erasure
from workspaces.services.indexing import index_node, index_nodes
from workspaces.services.integrations.sync import run_sync
from workspaces.services.jobs import register_batch_handler, register_handler
from workspaces.services.processing import process_event, process_events
from workspaces.services.rebuild.trees import reindex_tree
from workspaces.services.sealing import seal_tree, seal_trees
from workspaces.services.transfer.transfers import run_export, run_import
from workspaces.services.webhooks.delivering import deliver
from workspaces.verify.run import broken_codes

# A turn of one workspace: long enough to fill the embedder's batch, short for those who wait.
EVENTS_TOGETHER = 32
NODES_TOGETHER = 16
TREES_TOGETHER = 16


def register() -> None:
    """Called once when the app is ready."""
    register_handler(Job.Topic.EVENT_RECEIVED, process_event)
    register_handler(Job.Topic.TREE_DIRTY, seal_tree)
    register_handler(Job.Topic.TREE_REINDEX, reindex_tree)
    register_handler(Job.Topic.NODE_CREATED, index_node)
    register_handler(Job.Topic.CONNECTOR_SYNC, run_sync)
    register_handler(Job.Topic.ENTITY_CHANGED, rejudge_fallback)
    register_handler(Job.Topic.ENTITY_NAMES, refresh_names)
    register_handler(Job.Topic.ENTITY_MERGE, run_merge)
    register_handler(Job.Topic.ERASE, complete_erasure)
    register_handler(Job.Topic.WEBHOOK_DELIVER, deliver)
    register_handler(Job.Topic.WORKSPACE_EXPORT, run_export)
    register_handler(Job.Topic.WORKSPACE_IMPORT, partial(run_import, verify=broken_codes))
    register_batch_handler(Job.Topic.EVENT_RECEIVED, process_events, size=EVENTS_TOGETHER)
    register_batch_handler(Job.Topic.TREE_DIRTY, seal_trees, size=TREES_TOGETHER)
    register_batch_handler(Job.Topic.NODE_CREATED, index_nodes, size=NODES_TOGETHER)

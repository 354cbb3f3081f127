"""Addresses under /api/v1 that belong to this app."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from workspaces.api import events, jobs, nodes, trees, workspaces


class TreeKeyConverter(StringConverter):
    """A tree's key may hold slashes (an account's name), but nothing that is not printed."""

    regex = r"[^\x00-\x1f\x7f]+"


register_converter(TreeKeyConverter, "tree_key")

WS = "workspaces/<slug:ws>"

urlpatterns = [
    path("me", workspaces.MeView.as_view()),
    path("workspaces", workspaces.WorkspacesView.as_view()),
    path(WS, workspaces.WorkspaceDetailView.as_view()),
    path(f"{WS}/events", events.EventsView.as_view()),
    path(f"{WS}/events:batch", events.EventBatchView.as_view()),
    path(f"{WS}/events/<uuid:event_id>", events.EventView.as_view()),
    path(f"{WS}/trees", trees.TreesView.as_view()),
    path(f"{WS}/trees/<tree_key:key>:seal", trees.TreeSealView.as_view()),
    path(f"{WS}/trees/<tree_key:key>", trees.TreeView.as_view()),
    path(f"{WS}/leaves/<uuid:leaf_id>", nodes.LeafView.as_view()),
    path(f"{WS}/leaves/<uuid:leaf_id>/history", nodes.LeafHistoryView.as_view()),
    path(f"{WS}/summaries/<uuid:summary_id>", nodes.SummaryView.as_view()),
    path(f"{WS}/entities", trees.EntitiesView.as_view()),
    path(f"{WS}/jobs", jobs.JobsView.as_view()),
    path(f"{WS}/jobs/<uuid:job_id>:retry", jobs.JobRetryView.as_view()),
    path(f"{WS}/jobs/<uuid:job_id>:cancel", jobs.JobCancelView.as_view()),
]

"""Addresses under /api/v1 that belong to this app."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from workspaces.api import (
    corrections,
    entities,
    erasures,
    events,
    integrations,
    jobs,
    keys,
    members,
    nodes,
    transfers,
    trees,
    usage,
    users,
    webhooks,
    workspaces,
)


class SlashedConverter(StringConverter):
    """A name of the outside, which may hold slashes, but nothing that is not printed."""

    regex = r"[^\x00-\x1f\x7f]+"


class PartConverter(StringConverter):
    """One part of an address: printed characters without a slash."""

    regex = r"[^/\x00-\x1f\x7f]+"


register_converter(SlashedConverter, "tree_key")
register_converter(SlashedConverter, "slashed")
register_converter(PartConverter, "part")

WS = "workspaces/<slug:ws>"

urlpatterns = [
    path("me", workspaces.MeView.as_view()),
    path("audit", corrections.TenantAuditView.as_view()),
    path("usage", usage.TenantUsageView.as_view()),
    path("keys", keys.KeysView.as_view()),
    path("keys/<uuid:key_id>", keys.KeyView.as_view()),
    path("keys/<uuid:key_id>:rotate", keys.KeyRotateView.as_view()),
    path("members", members.MembersView.as_view()),
    path("members/<uuid:member_id>", members.MemberView.as_view()),
    path("invitations", members.InvitationsView.as_view()),
    path("invitations/<uuid:invitation_id>", members.InvitationView.as_view()),
    path("workspaces", workspaces.WorkspacesView.as_view()),
    path(WS, workspaces.WorkspaceDetailView.as_view()),
    path(f"{WS}/events", events.EventsView.as_view()),
    path(f"{WS}/events:batch", events.EventBatchView.as_view()),
    path(f"{WS}/events/<uuid:event_id>", events.EventView.as_view()),
    path(f"{WS}/users", users.EndUsersView.as_view()),
    path(f"{WS}/users/<slashed:ref>/export", users.EndUserExportView.as_view()),
    path(f"{WS}/users/<slashed:ref>", users.EndUserView.as_view()),
    path(f"{WS}/trees", trees.TreesView.as_view()),
    path(f"{WS}/trees/<tree_key:key>:seal", trees.TreeSealView.as_view()),
    path(f"{WS}/trees/<tree_key:key>:rebuild", trees.TreeRebuildView.as_view()),
    path(f"{WS}/trees/<tree_key:key>", trees.TreeView.as_view()),
    path(f"{WS}/leaves/<uuid:leaf_id>", nodes.LeafView.as_view()),
    path(f"{WS}/leaves/<uuid:leaf_id>/history", nodes.LeafHistoryView.as_view()),
    path(f"{WS}/leaves/<uuid:leaf_id>:correct", corrections.LeafCorrectView.as_view()),
    path(f"{WS}/leaves/<uuid:leaf_id>:forget", corrections.LeafForgetView.as_view()),
    path(f"{WS}/leaves/<uuid:leaf_id>:restore", corrections.LeafRestoreView.as_view()),
    path(f"{WS}/leaves/<uuid:leaf_id>:move", corrections.LeafMoveView.as_view()),
    path(f"{WS}/audit", corrections.AuditView.as_view()),
    path(f"{WS}/audit/<uuid:audit_id>:undo", corrections.AuditUndoView.as_view()),
    path(f"{WS}/leaves/<uuid:leaf_id>:erase", erasures.LeafEraseView.as_view()),
    path(f"{WS}/erasures/<uuid:erasure_id>", erasures.ErasureView.as_view()),
    path(f"{WS}/summaries/<uuid:summary_id>", nodes.SummaryView.as_view()),
    path(f"{WS}/entities", trees.EntitiesView.as_view()),
    path(f"{WS}/entities/<slug:slug>", entities.EntityView.as_view()),
    path(f"{WS}/entities/<slug:slug>:merge", entities.EntityMergeView.as_view()),
    path(f"{WS}/integrations", integrations.IntegrationsView.as_view()),
    path(
        f"{WS}/integrations/<part:provider>/<part:account>",
        integrations.IntegrationView.as_view(),
    ),
    path(
        f"{WS}/integrations/<part:provider>/<part:account>/sync",
        integrations.IntegrationSyncView.as_view(),
    ),
    path(f"{WS}/webhooks", webhooks.WebhooksView.as_view()),
    path(f"{WS}/webhooks/<uuid:webhook_id>", webhooks.WebhookView.as_view()),
    path(f"{WS}/webhooks/<uuid:webhook_id>:ping", webhooks.WebhookPingView.as_view()),
    path(f"{WS}/webhooks/<uuid:webhook_id>/deliveries", webhooks.DeliveriesView.as_view()),
    path(f"{WS}/export", transfers.ExportRequestView.as_view()),
    path(f"{WS}/exports/<uuid:export_id>", transfers.ExportView.as_view()),
    path(f"{WS}/exports/<uuid:export_id>/archive", transfers.ExportArchiveView.as_view()),
    path(f"{WS}/import", transfers.ImportRequestView.as_view()),
    path(f"{WS}/imports/<uuid:import_id>", transfers.ImportView.as_view()),
    path(f"{WS}/usage", usage.UsageView.as_view()),
    path(f"{WS}/circuits", usage.CircuitsView.as_view()),
    path(f"{WS}/jobs", jobs.JobsView.as_view()),
    path(f"{WS}/jobs/<uuid:job_id>:retry", jobs.JobRetryView.as_view()),
    path(f"{WS}/jobs/<uuid:job_id>:cancel", jobs.JobCancelView.as_view()),
]

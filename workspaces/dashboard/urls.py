"""Pages of the dashboard that belong to workspaces."""

from django.templatetags.static import static
from django.urls import path
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.generic import RedirectView
from django.views.i18n import set_language

from workspaces.dashboard import (
    audit,
    entities,
    erasures,
    exports,
    integrations,
    keys,
    leaf_changes,
    members,
    settings,
    tree_changes,
    trees,
    usage,
    webhooks,
    work,
)
from workspaces.dashboard.doors import SignIn, SignOut, home, tenant_home

door = require_http_methods(["GET", "HEAD", "POST"])

WORKSPACE = "w/<slug:tenant>/<slug:workspace>/"
TREE = WORKSPACE + "trees/<uuid:tree_id>/"
NODE = WORKSPACE + "nodes/<uuid:node_id>/"
INTEGRATIONS = WORKSPACE + "integrations/"
CONNECTOR = INTEGRATIONS + "<uuid:connector_id>/"
ENTITY = WORKSPACE + "entities/<uuid:entity_id>/"
MEMBERS = WORKSPACE + "settings/members/"
MEMBER = MEMBERS + "<uuid:member_id>/"
INVITATION = WORKSPACE + "settings/invitations/<uuid:invitation_id>/"
KEYS = WORKSPACE + "settings/keys/"
KEY = KEYS + "<uuid:key_id>/"
EXPORTS = WORKSPACE + "settings/exports/"
WEBHOOKS = WORKSPACE + "settings/webhooks/"
WEBHOOK = WEBHOOKS + "<uuid:webhook_id>/"

urlpatterns = [
    path("favicon.ico", require_safe(RedirectView.as_view(url=static("holamem/favicon.svg")))),
    path("", home, name="dashboard_home"),
    path("login/", door(SignIn.as_view()), name="login"),
    path("logout/", SignOut.as_view(), name="logout"),
    path("language/", require_POST(set_language), name="set_language"),
    path("invitation/<str:token>/", members.invitation, name="invitation"),
    path("w/<slug:tenant>/", tenant_home, name="dashboard_tenant"),
    path(WORKSPACE + "trees/", trees.tree_list, name="dashboard_trees"),
    path(TREE, trees.tree, name="dashboard_tree"),
    path(TREE + "rebuild/", tree_changes.rebuild, name="dashboard_tree_rebuild"),
    path(NODE, trees.node, name="dashboard_node"),
    path(NODE + "correct/", leaf_changes.correct, name="dashboard_leaf_correct"),
    path(NODE + "move/", leaf_changes.move, name="dashboard_leaf_move"),
    path(NODE + "forget/", leaf_changes.forget, name="dashboard_leaf_forget"),
    path(NODE + "restore/", leaf_changes.restore, name="dashboard_leaf_restore"),
    path(NODE + "erase/", erasures.erase, name="dashboard_leaf_erase"),
    path(WORKSPACE + "erasures/<uuid:erasure_id>/", erasures.erasure, name="dashboard_erasure"),
    path(WORKSPACE + "entities/", entities.entity_list, name="dashboard_entities"),
    path(ENTITY, entities.entity, name="dashboard_entity"),
    path(ENTITY + "rename/", entities.rename, name="dashboard_entity_rename"),
    path(ENTITY + "aliases/add/", entities.alias_add, name="dashboard_alias_add"),
    path(ENTITY + "aliases/remove/", entities.alias_remove, name="dashboard_alias_remove"),
    path(ENTITY + "merge/", entities.merge, name="dashboard_entity_merge"),
    path(INTEGRATIONS, integrations.integration_list, name="dashboard_integrations"),
    path(INTEGRATIONS + "add/", integrations.add, name="dashboard_integration_add"),
    path(CONNECTOR + "sync/", integrations.sync, name="dashboard_integration_sync"),
    path(CONNECTOR + "stop/", integrations.stop, name="dashboard_integration_stop"),
    path(WORKSPACE + "audit/", audit.audit_list, name="dashboard_audit"),
    path(WORKSPACE + "audit/<uuid:audit_id>/undo/", audit.undo, name="dashboard_undo"),
    path(WORKSPACE + "events/", work.event_list, name="dashboard_events"),
    path(WORKSPACE + "jobs/", work.job_list, name="dashboard_jobs"),
    path(WORKSPACE + "jobs/<uuid:job_id>/retry/", work.retry, name="dashboard_job_retry"),
    path(WORKSPACE + "jobs/<uuid:job_id>/cancel/", work.cancel, name="dashboard_job_cancel"),
    path(MEMBERS, members.member_list, name="dashboard_members"),
    path(MEMBERS + "invite/", members.member_invite, name="dashboard_member_invite"),
    path(MEMBER + "role/", members.member_role, name="dashboard_member_role"),
    path(MEMBER + "remove/", members.member_remove, name="dashboard_member_remove"),
    path(INVITATION + "revoke/", members.invitation_revoke, name="dashboard_invitation_revoke"),
    path(KEYS, keys.key_list, name="dashboard_keys"),
    path(KEYS + "create/", keys.key_create, name="dashboard_key_create"),
    path(KEY + "rotate/", keys.key_rotate, name="dashboard_key_rotate"),
    path(KEY + "revoke/", keys.key_revoke, name="dashboard_key_revoke"),
    path(WORKSPACE + "settings/workspace/", settings.settings, name="dashboard_settings"),
    path(WORKSPACE + "settings/usage/", usage.usage, name="dashboard_usage"),
    path(EXPORTS, exports.export_list, name="dashboard_exports"),
    path(EXPORTS + "create/", exports.export_create, name="dashboard_export_create"),
    path(
        EXPORTS + "<uuid:export_id>/archive/",
        exports.export_archive,
        name="dashboard_export_archive",
    ),
    path(WEBHOOKS, webhooks.webhook_list, name="dashboard_webhooks"),
    path(WEBHOOKS + "create/", webhooks.webhook_create, name="dashboard_webhook_create"),
    path(WEBHOOK, webhooks.webhook, name="dashboard_webhook"),
    path(WEBHOOK + "ping/", webhooks.webhook_ping, name="dashboard_webhook_ping"),
    path(WEBHOOK + "switch/", webhooks.webhook_switch, name="dashboard_webhook_switch"),
    path(WEBHOOK + "delete/", webhooks.webhook_delete, name="dashboard_webhook_delete"),
]

"""Pages of the dashboard that belong to workspaces."""

from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from workspaces.dashboard import trees, work
from workspaces.dashboard.doors import SignIn, SignOut, home, tenant_home

WORKSPACE = "w/<slug:tenant>/<slug:workspace>/"

urlpatterns = [
    path("favicon.ico", RedirectView.as_view(url=static("holamem/favicon.svg"))),
    path("", home, name="dashboard_home"),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", SignOut.as_view(), name="logout"),
    path("language/", set_language, name="set_language"),
    path("w/<slug:tenant>/", tenant_home, name="dashboard_tenant"),
    path(WORKSPACE + "trees/", trees.tree_list, name="dashboard_trees"),
    path(WORKSPACE + "trees/<uuid:tree_id>/", trees.tree, name="dashboard_tree"),
    path(WORKSPACE + "nodes/<uuid:node_id>/", trees.node, name="dashboard_node"),
    path(WORKSPACE + "events/", work.event_list, name="dashboard_events"),
    path(WORKSPACE + "jobs/", work.job_list, name="dashboard_jobs"),
    path(WORKSPACE + "jobs/<uuid:job_id>/retry/", work.retry, name="dashboard_job_retry"),
    path(WORKSPACE + "jobs/<uuid:job_id>/cancel/", work.cancel, name="dashboard_job_cancel"),
]

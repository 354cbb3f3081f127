"""Everything that answers HTTP."""

from django.contrib import admin
from django.urls import include, path, re_path

from holamem.http import problems
from holamem.http.llms import llms_txt
from holamem.http.metrics import metrics
from holamem.http.openapi import DocsView, SchemaView
from retrieval.mcp.http import McpView
from workspaces.api.health import healthz, readyz

handler400 = problems.handle_bad_request
handler403 = problems.handle_permission_denied
handler404 = problems.handle_not_found
handler500 = problems.handle_server_error

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("llms.txt", llms_txt),
    path("openapi.json", SchemaView.as_view()),
    path("api/v1/schema", SchemaView.as_view(), name="api-schema"),
    path("api/v1/docs", DocsView.as_view(), name="api-docs"),
    path("api/v1/", include("workspaces.api.urls")),
    path("api/v1/", include("retrieval.api.urls")),
    path("api/v1/", include("agents.api.urls")),
    re_path(r"^api(?:/.*)?$", problems.api_not_found),
    re_path(r"^mcp/?$", McpView.as_view(), name="mcp"),
    path("admin/", admin.site.urls),
    path("", include("workspaces.dashboard.urls")),
    path("", include("retrieval.dashboard.urls")),
    path("", include("agents.dashboard.urls")),
]

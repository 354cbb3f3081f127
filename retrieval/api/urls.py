"""Addresses under /api/v1 that belong to the read side."""

from django.urls import path

from retrieval.api import compatibility, views

WS = "workspaces/<slug:ws>"

urlpatterns = [
    path(f"{WS}/memory/retrieve", views.RetrieveView.as_view()),
    path(f"{WS}/memory/browse", views.BrowseView.as_view()),
    path(f"{WS}/gaps", views.GapsView.as_view()),
    path(f"{WS}/gaps/<uuid:gap_id>:dismiss", views.GapDismissView.as_view()),
    path(f"{WS}/retrievals/<uuid:retrieval_id>/feedback", views.FeedbackView.as_view()),
    path(f"{WS}/status", views.StatusView.as_view()),
    path("memory/search", compatibility.SearchView.as_view()),
    path("memory/get", compatibility.GetView.as_view()),
    path("memory/upsert", compatibility.UpsertView.as_view()),
    path("memory/status", compatibility.MemoryStatusView.as_view()),
    path("memory/sync", compatibility.SyncView.as_view()),
]

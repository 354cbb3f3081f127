"""Pages of the dashboard that belong to the read side; the overview shows both sides."""

from django.urls import path

from retrieval.dashboard import ask, connect, ledger, overview

WORKSPACE = "w/<slug:tenant>/<slug:workspace>/"

urlpatterns = [
    path(WORKSPACE, overview.overview, name="dashboard_overview"),
    path(WORKSPACE + "connect/", connect.connect, name="dashboard_connect"),
    path(WORKSPACE + "ask/", ask.ask, name="dashboard_ask"),
    path(WORKSPACE + "gaps/", ledger.gap_list, name="dashboard_gaps"),
    path(WORKSPACE + "gaps/<uuid:gap_id>/dismiss/", ledger.dismiss, name="dashboard_gap_dismiss"),
]

"""Pages of the dashboard that belong to the read side; the overview shows both sides."""

from django.urls import path

from retrieval.dashboard import activity, ask, connect, ledger, overview

WORKSPACE = "w/<slug:tenant>/<slug:workspace>/"
GAP = WORKSPACE + "gaps/<uuid:gap_id>/"

urlpatterns = [
    path(WORKSPACE, overview.overview, name="dashboard_overview"),
    path(WORKSPACE + "activity/", activity.activity, name="dashboard_activity"),
    path(WORKSPACE + "connect/", connect.connect, name="dashboard_connect"),
    path(WORKSPACE + "ask/", ask.ask, name="dashboard_ask"),
    path(WORKSPACE + "gaps/", ledger.gap_list, name="dashboard_gaps"),
    path(GAP, ledger.gap, name="dashboard_gap"),
    path(GAP + "fill/", ledger.fill, name="dashboard_gap_fill"),
    path(GAP + "close/", ledger.close, name="dashboard_gap_close"),
    path(GAP + "dismiss/", ledger.dismiss, name="dashboard_gap_dismiss"),
]

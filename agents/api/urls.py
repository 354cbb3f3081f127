"""Addresses under /api/v1 that belong to this app."""

from django.urls import path

from agents.api import agents, approvals, distillations, hot, runs, sessions, streams

WS = "workspaces/<slug:ws>"
SESSION = f"{WS}/sessions/<uuid:session_id>"
RUN = f"{WS}/runs/<uuid:run_id>"
APPROVAL = f"{WS}/approvals/<uuid:approval_id>"

urlpatterns = [
    path(f"{WS}/agents", agents.AgentsView.as_view()),
    path(f"{WS}/agents/<slug:agent>", agents.AgentView.as_view()),
    path(f"{WS}/sessions", sessions.SessionsView.as_view()),
    path(SESSION, sessions.OneSessionView.as_view()),
    path(f"{SESSION}:archive", sessions.SessionArchiveView.as_view()),
    path(f"{SESSION}/messages", sessions.MessagesView.as_view()),
    path(f"{SESSION}/messages/<uuid:message_id>", sessions.MessageView.as_view()),
    path(f"{SESSION}/events", streams.SessionEventsView.as_view()),
    path(f"{SESSION}/runs", runs.RunsView.as_view()),
    path(f"{WS}/messages:search", sessions.MessageSearchView.as_view()),
    path(RUN, runs.RunView.as_view()),
    path(f"{RUN}:cancel", runs.RunCancelView.as_view()),
    path(f"{RUN}:continue", runs.RunContinueView.as_view()),
    path(f"{RUN}:retry", runs.RunRetryView.as_view()),
    path(f"{WS}/approvals", approvals.ApprovalsView.as_view()),
    path(APPROVAL, approvals.ApprovalView.as_view()),
    path(f"{APPROVAL}:decide", approvals.ApprovalDecideView.as_view()),
    path(f"{WS}/text-memory", hot.TextMemoriesView.as_view()),
    path(f"{WS}/text-memory/<slug:scope>/<part:name>", hot.TextMemoryView.as_view()),
    path(f"{WS}/history", hot.HistoryView.as_view()),
    path(f"{WS}/distillations", distillations.DistillationsView.as_view()),
]

"""Pages of the dashboard that belong to agents."""

from django.urls import path

from agents.dashboard import (
    agents,
    attention,
    distillations,
    history,
    runs,
    sessions,
    text_memory,
)

WORKSPACE = "w/<slug:tenant>/<slug:workspace>/"
SESSIONS = WORKSPACE + "sessions/"
SESSION = SESSIONS + "<uuid:session_id>/"
RUN = WORKSPACE + "runs/<uuid:run_id>/"
AGENTS = WORKSPACE + "agents/"
AGENT = AGENTS + "<slug:agent>/"
TEXT = WORKSPACE + "text-memory/"
TEXT_MEMORY = TEXT + "<uuid:memory_id>/"

urlpatterns = [
    path(WORKSPACE + "attention/", attention.attention, name="dashboard_attention"),
    path(
        WORKSPACE + "attention/<uuid:node_id>/keep/", attention.keep, name="dashboard_flagged_keep"
    ),
    path(SESSIONS, sessions.session_list, name="dashboard_sessions"),
    path(SESSION, sessions.session, name="dashboard_session"),
    path(SESSION + "say/", sessions.say, name="dashboard_session_say"),
    path(SESSION + "change/", sessions.change, name="dashboard_session_change"),
    path(SESSION + "archive/", sessions.archive, name="dashboard_session_archive"),
    path(SESSION + "timeline/", sessions.timeline, name="dashboard_timeline"),
    path(SESSION + "stream/", sessions.stream, name="dashboard_session_stream"),
    path(
        SESSION + "messages/<uuid:message_id>/delete/",
        sessions.message_delete,
        name="dashboard_message_delete",
    ),
    path(RUN + "cancel/", runs.cancel, name="dashboard_run_cancel"),
    path(RUN + "continue/", runs.carry_on, name="dashboard_run_continue"),
    path(RUN + "retry/", runs.retry, name="dashboard_run_retry"),
    path(
        WORKSPACE + "approvals/<uuid:approval_id>/decide/",
        runs.decide,
        name="dashboard_approval_decide",
    ),
    path(AGENTS, agents.agent_list, name="dashboard_agents"),
    path(AGENTS + "new/", agents.agent_new, name="dashboard_agent_new"),
    path(AGENT, agents.agent_edit, name="dashboard_agent"),
    path(AGENT + "archive/", agents.agent_archive, name="dashboard_agent_archive"),
    path(TEXT, text_memory.text_list, name="dashboard_text_memories"),
    path(TEXT_MEMORY, text_memory.text_one, name="dashboard_text_memory"),
    path(TEXT_MEMORY + "delete/", text_memory.text_delete, name="dashboard_text_memory_delete"),
    path(
        WORKSPACE + "distillations/",
        distillations.distillation_list,
        name="dashboard_distillations",
    ),
    path(WORKSPACE + "history/", history.history_list, name="dashboard_history"),
]

"""Runs: one sentence of a user, from its start to its end."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from agents.api.base import RUN, ConversationView, SessionView
from agents.api.serializers import RunDetailSerializer, RunPageSerializer, RunSerializer
from agents.models.runs import Run
from agents.services.pages import calls_of_run, page_of_runs
from agents.services.resuming import resume_run
from agents.services.runs import CONTENT_CHARACTERS, cancel_run, get_run, retry_run, start_run
from holamem.http.fields import StrictChoiceField, StrictSerializer, TextField, choices
from holamem.http.openapi import operation
from workspaces.api.pagination import PageQuery, page_answer, wanted_slice

ACTIONS = (404, 409, 413, 415)


class NewRunSerializer(StrictSerializer):
    content = TextField(max_length=CONTENT_CHARACTERS, help_text="What the user says.")
    input_mode = StrictChoiceField(
        choices=choices(Run.InputMode.values),
        required=False,
        help_text=(
            "While a run is active: `queue`, the default, waits for its end; `interrupt` cancels"
            " it first."
        ),
    )


class RunsView(SessionView):
    permissions = {"POST": RUN}
    queries = {"GET": PageQuery}
    bodies = {"POST": NewRunSerializer}

    @operation("runs_list", summary="List the runs of a session", answers={200: RunPageSerializer})
    def get(self, request: Request, ws: str, session_id: UUID) -> Response:
        """Newest first."""
        owner = self.workspace.id
        listed = page_of_runs(
            self.workspace,
            session=self.session,
            wanted=wanted_slice(request, params=self.params, owner=owner),
        )
        return Response(page_answer(request, listed=listed, owner=owner, show=_shown))

    @operation(
        "runs_create",
        summary="Say something to the agent",
        answers={202: RunSerializer},
        problems=ACTIONS,
    )
    def post(self, request: Request, ws: str, session_id: UUID) -> Response:
        """Stored, and answered by a worker: follow the session's events.

        The run keeps the agent's configuration as it is now.
        """
        body = self.read_body(request)
        run = start_run(
            self.workspace,
            session=self.session,
            content=body["content"],
            input_mode=body.get("input_mode", Run.InputMode.QUEUE),
            started_by=self.principal,
        )
        return Response(_shown(run), status=202)


class RunApiView(ConversationView):
    run: Run

    def find_owner(self, **kwargs: Any) -> None:
        super().find_owner(**kwargs)
        self.run = get_run(self.workspace, scopes=self.own_scopes, run_id=kwargs["run_id"])


class RunView(RunApiView):
    @operation("runs_get", summary="Look at one run", answers={200: RunDetailSerializer})
    def get(self, request: Request, ws: str, run_id: UUID) -> Response:
        """Its state and the tools that it called."""
        calls = calls_of_run(self.workspace, run=self.run)
        shown = RunDetailSerializer(self.run, context={"tool_calls": calls})
        return Response(shown.data)


class RunActionView(RunApiView):
    permissions = {"POST": RUN}


class RunCancelView(RunActionView):
    @operation(
        "runs_cancel", summary="Cancel a run", answers={202: RunSerializer}, problems=ACTIONS
    )
    def post(self, request: Request, ws: str, run_id: UUID) -> Response:
        """Its model and its tools are stopped; what was written so far is kept as partial.

        Once more is fine; a run that completed or failed is a conflict.
        """
        self.read_no_body(request)
        return Response(_shown(cancel_run(self.workspace, run=self.run)), status=202)


class RunContinueView(RunActionView):
    @operation(
        "runs_continue",
        summary="Let a run go on",
        answers={202: RunSerializer},
        problems=ACTIONS,
    )
    def post(self, request: Request, ws: str, run_id: UUID) -> Response:
        """Wakes a worker for a run that has not ended, from its last checkpoint.

        Workers look by themselves too. A run whose approval waits for its decision is a conflict.
        """
        self.read_no_body(request)
        resumed = resume_run(self.workspace, scopes=self.own_scopes, run=self.run)
        return Response(_shown(resumed), status=202)


class RunRetryView(RunActionView):
    @operation(
        "runs_retry", summary="Try a run again", answers={202: RunSerializer}, problems=ACTIONS
    )
    def post(self, request: Request, ws: str, run_id: UUID) -> Response:
        """The same sentence with the same configuration, as a run of its own.

        Only for one that failed or was cancelled.
        """
        self.read_no_body(request)
        again = retry_run(self.workspace, run=self.run, started_by=self.principal)
        return Response(_shown(again), status=202)


def _shown(run: Run) -> dict[str, Any]:
    return dict(RunSerializer(run).data)

"""The job ledger of one workspace."""

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.http.fields import StrictChoiceField, choices
from holamem.http.openapi import operation
from workspaces import access
from workspaces.api.base import WorkspaceView
from workspaces.api.pagination import PageQuery, page_answer, page_of, wanted_slice
from workspaces.models.jobs import Job
from workspaces.services.jobs import cancel_job, retry_job
from workspaces.services.listing import list_jobs


class JobListQuery(PageQuery):
    state = StrictChoiceField(
        choices=choices(Job.State.values), required=False, help_text="Jobs in this state."
    )
    topic = StrictChoiceField(
        choices=choices(Job.Topic.values), required=False, help_text="Jobs of this topic."
    )


class JobSerializer(serializers.Serializer[Any]):
    job_id = serializers.UUIDField(source="id")
    topic = StrictChoiceField(choices=choices(Job.Topic.values))
    target_id = serializers.UUIDField()
    state = StrictChoiceField(choices=choices(Job.State.values))
    attempts = serializers.IntegerField()
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    next_try_at = serializers.DateTimeField()
    done_at = serializers.DateTimeField(allow_null=True)


JobPageSerializer = page_of(JobSerializer, name="JobPage")


class JobsView(WorkspaceView):
    queries = {"GET": JobListQuery}

    @operation("jobs_list", summary="List jobs, newest first", answers={200: JobPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """The work ledger: what waits, runs, is done, or was parked after its last attempt.

        Jobs of end users' memory are listed for keys with `memory:all_users`.
        """
        listed = list_jobs(
            self.workspace,
            scopes=self.list_scopes,
            wanted=wanted_slice(request, params=self.params, owner=self.workspace.id),
            state=self.params.get("state"),
            topic=self.params.get("topic"),
        )
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=self.workspace.id,
                show=lambda row: dict(JobSerializer(row).data),
            )
        )


class JobRetryView(WorkspaceView):
    @operation(
        "jobs_retry",
        summary="Retry a job",
        answers={200: JobSerializer},
        problems=(404, 409),
    )
    def post(self, request: Request, ws: str, job_id: UUID) -> Response:
        """Give a parked or cancelled job its attempts back."""
        access.get_job(self.workspace, scopes=self.change_scopes, job_id=job_id)
        self.read_no_body(request)
        job = retry_job(self.workspace, scopes=self.change_scopes, job_id=job_id)
        return Response(JobSerializer(job).data)


class JobCancelView(WorkspaceView):
    @operation(
        "jobs_cancel",
        summary="Cancel a job",
        answers={200: JobSerializer},
        problems=(404, 409),
    )
    def post(self, request: Request, ws: str, job_id: UUID) -> Response:
        """Stop a job that has not started, or one that is parked."""
        access.get_job(self.workspace, scopes=self.change_scopes, job_id=job_id)
        self.read_no_body(request)
        job = cancel_job(self.workspace, scopes=self.change_scopes, job_id=job_id)
        return Response(JobSerializer(job).data)

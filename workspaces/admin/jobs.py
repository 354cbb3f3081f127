"""The job ledger, with retry and cancel."""

from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from holamem.database.scope import ALL_SCOPES
from holamem.errors import Conflict
from workspaces.admin.base import ReadOnlyAdmin
from workspaces.models.jobs import Job
from workspaces.services.jobs import cancel_job, retry_job


@admin.register(Job)
class JobPage(ReadOnlyAdmin):
    exclude = ("payload", "lease_token")
    list_display = (
        "topic", "target_id", "workspace", "state", "attempts", "next_try_at", "error", "created_at"
    )  # fmt: skip
    list_filter = ("state", "topic")
    search_fields = ("=id", "=target_id", "error", "workspace__slug")
    list_select_related = ("workspace",)
    actions = ("retry", "cancel")

    def has_work_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("workspaces.change_job")

    @admin.action(description=_("Retry the selected jobs"), permissions=["work"])
    def retry(self, request: HttpRequest, rows: QuerySet[Job]) -> None:
        self._change_all(request, rows, retry_job)

    @admin.action(description=_("Cancel the selected jobs"), permissions=["work"])
    def cancel(self, request: HttpRequest, rows: QuerySet[Job]) -> None:
        self._change_all(request, rows, cancel_job)

    def _change_all(
        self, request: HttpRequest, rows: QuerySet[Job], change: Callable[..., Job]
    ) -> None:
        jobs = list(rows.select_related("workspace"))
        refused = 0
        for job in jobs:
            try:
                change(job.workspace, scopes=ALL_SCOPES, job_id=job.id)
            except Conflict:
                refused += 1
        done = len(jobs) - refused
        self.message_user(
            request, ngettext("%d job is changed.", "%d jobs are changed.", done) % done
        )
        if refused:
            words = ngettext("%d job was left as it is.", "%d jobs were left as they are.", refused)
            self.message_user(request, words % refused, level=messages.WARNING)

"""What expires: retired body files and answers kept for idempotency."""

from datetime import timedelta

from holamem.clock import now
from holamem.database.scope import system_scope
from workspaces.bodies import delete_bodies
from workspaces.models.trees import RetiredBody, SourceLeaf, SummaryNode
from workspaces.services.idempotency import remove_old_answers

IDEMPOTENCY_HOURS = 24
BATCH = 500


def remove_expired() -> int:
    """Returns the number of files removed. The row goes after its file, so a crash repeats it."""
    remove_old_answers(before=now() - timedelta(hours=IDEMPOTENCY_HOURS))
    with system_scope():
        expired = list(RetiredBody.objects.filter(expires_at__lt=now())[:BATCH])
        paths = [row.path for row in expired]
        live = _paths_in_use(paths)
    delete_bodies([path for path in paths if path not in live])
    with system_scope():
        RetiredBody.objects.filter(id__in=[row.id for row in expired]).delete()
    return len(paths)


def _paths_in_use(paths: list[str]) -> set[str]:
    """A tree that grew and shrank may have come back to a path that was given up."""
    leaves = SourceLeaf.objects.filter(body_path__in=paths).values_list("body_path", flat=True)
    summaries = (
        SummaryNode.objects.filter(body_path__in=paths)
        .exclude(status=SummaryNode.Status.RETIRED)
        .values_list("body_path", flat=True)
    )
    return {*leaves, *summaries}

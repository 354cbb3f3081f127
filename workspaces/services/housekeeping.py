"""What expires: retired body files, answers kept for idempotency, and old calls of models."""

from datetime import timedelta

from django.db.models import F, OuterRef, Subquery

from holamem.clock import now
from holamem.database.scope import system_scope
from workspaces.bodies import delete_bodies
from workspaces.models.circuits import Circuit
from workspaces.models.trees import RetiredBody, SourceLeaf, SummaryNode
from workspaces.models.usage import ModelCall
from workspaces.services.idempotency import remove_old_answers

IDEMPOTENCY_HOURS = 24
CALL_DAYS = 90
CALLS_KEPT = 100
BATCH = 500


def remove_expired() -> int:
    """Returns the number of files removed. The row goes after its file, so a crash repeats it."""
    remove_old_answers(before=now() - timedelta(hours=IDEMPOTENCY_HOURS))
    _remove_old_calls()
    with system_scope():
        expired = list(RetiredBody.objects.filter(expires_at__lt=now())[:BATCH])
        paths = [row.path for row in expired]
        live = _paths_in_use(paths)
    delete_bodies([path for path in paths if path not in live])
    with system_scope():
        RetiredBody.objects.filter(id__in=[row.id for row in expired]).delete()
    return len(paths)


def _remove_old_calls() -> None:
    """Their sums by day stay, and the last calls of each circuit, from which it is checked."""
    with system_scope():
        old = ModelCall.objects.filter(at__lt=now() - timedelta(days=CALL_DAYS))
        circuit = Circuit.objects.filter(
            workspace=OuterRef("workspace"), provider=OuterRef("provider")
        )
        last = old.annotate(seen=Subquery(circuit.values("calls")[:1]))
        ids = last.filter(circuit_seq__lt=F("seen") - CALLS_KEPT).values_list("id", flat=True)
        ModelCall.objects.filter(id__in=list(ids[:BATCH])).delete()


def _paths_in_use(paths: list[str]) -> set[str]:
    """A tree that grew and shrank may have come back to a path that was given up."""
    leaves = SourceLeaf.objects.filter(body_path__in=paths).values_list("body_path", flat=True)
    summaries = (
        SummaryNode.objects.filter(body_path__in=paths)
        .exclude(status=SummaryNode.Status.RETIRED)
        .values_list("body_path", flat=True)
    )
    return {*leaves, *summaries}

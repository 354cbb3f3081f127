"""Isolation where no request is: in workers, and in what may look for vectors."""

from pathlib import Path
from uuid import UUID

from django.utils import timezone

from holamem.database.scope import system_scope
from tests.authz.asking import rows
from tests.authz.world import Side
from tests.workspaces.memory import drain
from workspaces.models.jobs import Job

PROJECT = Path(__file__).parents[2]
APPS = ("holamem", "workspaces", "retrieval", "agents")
TARGETS = (
    "event_id", "tree_id", "leaf_id", "summary_id", "entity_id", "erasure_id", "connector_id",
    "webhook_id", "export_id", "import_id", "session_id", "run_id",
)  # fmt: skip
# What measures distances of vectors: the search, near-duplicates, and texts of the same meaning
# that topics and gaps are joined by. Each starts at its workspace; a new one is looked at first.
COMPARES_VECTORS = {
    "workspaces/index/search_sql.py", "workspaces/services/shortlist.py",
    "workspaces/services/known_leaves.py", "retrieval/topics.py", "retrieval/gaps.py",
}  # fmt: skip


def test_a_job_that_names_anothers_row_does_nothing_to_it(mine: Side, theirs: Side) -> None:
    before, moment = rows(mine), timezone.now()
    jobs = [
        Job(
            workspace=theirs.workspace,
            scope_id=theirs.workspace.id,
            topic=topic,
            target_id=UUID(mine.ids[name]),
            next_try_at=moment,
        )
        for topic in Job.Topic
        for name in TARGETS
    ]
    with system_scope():
        Job.objects.bulk_create(jobs)
    assert drain(theirs.workspace) >= len(jobs)
    assert rows(mine) == before
    with system_scope():
        Job.objects.filter(id__in=[job.id for job in jobs]).delete()


def test_vectors_are_compared_where_it_is_known() -> None:
    sources = [path for app in APPS for path in (PROJECT / app).rglob("*.py")]
    found = {
        str(path.relative_to(PROJECT))
        for path in sources
        if "<=>" in path.read_text() and "bench" not in path.parts
    }
    assert found == COMPARES_VECTORS

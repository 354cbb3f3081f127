"""What it costs to seal a tree that grows leaf by leaf, at each size that it comes to."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from holamem.database.rows import insert_statement
from holamem.database.scope import workspace_scope
from holamem.database.statements import Statement, run_together
from holamem.ids import new_id
from holamem.text.normalise import fingerprint
from retrieval.bench.measures import Measure
from workspaces.bodies import render_body, save_bodies, written_body
from workspaces.body_paths import leaf_path, scope_directory
from workspaces.judging.offline import OfflineJudge
from workspaces.models.jobs import Job
from workspaces.models.log import Category, Event
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf, Tree
from workspaces.services import sealing
from workspaces.services.job_rows import NewJob, new_jobs_statement
from workspaces.services.jobs import ClaimedJob, claim_job, finish_job
from workspaces.services.seal_rows import move_statements
from workspaces.services.sealing import seal_tree
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.services.topology import mark_chain_stale, request_seal

SIZES = (10, 100, 1_000, 10_000)
MOST_NODES_PER_LEAF = 1.5
MOST_TIME_OF_A_HUNDRED = 1.5
SUPERSEDED = 8
WRITTEN_TOGETHER = 64  # files of leaves, outside of what is measured
COMPARED_FROM = 100  # the size whose time per leaf the largest one is compared with


@dataclass(slots=True)
class Costs:
    """Of the passes over a tree; `calls` of a judge that writes summaries."""

    leaves: int = 0
    nodes: int = 0
    calls: int = 0
    moves: int = 0
    seconds: float = 0.0


def measure_seal(*, leaves: int) -> list[Measure]:
    """A pass after each leaf, as when they come one at a time; sizes above `leaves` are left out."""
    workspace, tree = _new_tree()
    sizes = [size for size in SIZES if size <= leaves]
    measures: list[Measure] = []
    per_leaf_ms: dict[int, float] = {}
    for size, before in zip(sizes, (0, *sizes), strict=False):
        costs = Costs(leaves=size - before)
        for start in range(before, size, WRITTEN_TOGETHER):
            numbers = range(start, min(size, start + WRITTEN_TOGETHER))
            for leaf in _new_leaves(workspace, tree=tree, numbers=numbers):
                _add_leaf(workspace, tree=tree, leaf=leaf)
                _pass(workspace, tree=tree, costs=costs)
        per_leaf_ms[size] = costs.seconds * 1000 / costs.leaves
        measures += _per_leaf(costs, size=size, milliseconds=per_leaf_ms[size])
    return [*measures, *_growth(per_leaf_ms), *_superseded(workspace, tree=tree)]


def _per_leaf(costs: Costs, *, size: int, milliseconds: float) -> list[Measure]:
    """Since the size before this one."""
    most = MOST_NODES_PER_LEAF
    return [
        Measure(f"nodes_per_leaf_{size}", round(costs.nodes / costs.leaves, 3), "", at_most=most),
        Measure(f"calls_per_leaf_{size}", round(costs.calls / costs.leaves, 3), "", at_most=most),
        Measure(f"files_moved_per_leaf_{size}", round(costs.moves / costs.leaves, 3), ""),
        Measure(f"time_per_leaf_{size}", round(milliseconds, 2), "ms"),
    ]


def _growth(per_leaf_ms: dict[int, float]) -> list[Measure]:
    largest = max(per_leaf_ms)
    if largest <= COMPARED_FROM:
        return []
    ratio = per_leaf_ms[largest] / per_leaf_ms[COMPARED_FROM]
    name = f"time_{largest}_of_{COMPARED_FROM}"
    return [Measure(name, round(ratio, 3), "", at_most=MOST_TIME_OF_A_HUNDRED)]


def _superseded(workspace: Workspace, *, tree: Tree) -> list[Measure]:
    """Leaves from all over the tree, one pass each: at most one new node a level."""
    with workspace_scope(workspace):
        sealed = workspace.leaves.filter(tree=tree, parent__isnull=False)
        ids = list(sealed.order_by("observed_at").values_list("id", flat=True))
        height = workspace.trees.get(id=tree.id).height
    if not ids:
        return []
    most = 0
    for leaf_id in ids[:: max(1, len(ids) // SUPERSEDED)][:SUPERSEDED]:
        costs = Costs()
        _supersede(workspace, tree=tree, leaf_id=leaf_id)
        _pass(workspace, tree=tree, costs=costs)
        most = max(most, costs.nodes)
    return [
        Measure("depth", height, "levels"),
        Measure("replacements_per_superseded_leaf", most, "nodes", at_most=height),
    ]


def _supersede(workspace: Workspace, *, tree: Tree, leaf_id: UUID) -> None:
    """What the commit of a successor does to the old leaf; the successor waits in the buffer."""
    with workspace_scope(workspace):
        leaf = workspace.leaves.get(id=leaf_id)
        workspace.leaves.filter(id=leaf_id).update(status=SourceLeaf.Status.SUPERSEDED)
        mark_chain_stale(workspace, start=[leaf.parent_id])
        request_seal(workspace, tree=tree)


def _pass(workspace: Workspace, *, tree: Tree, costs: Costs) -> None:
    job = _claim(workspace, tree=tree)
    newest = new_id()
    with _counted(costs):
        began = time.monotonic()
        seal_tree(workspace, job)
        costs.seconds += time.monotonic() - began
    finish_job(job)
    with workspace_scope(workspace):  # ids sort by the time of their making
        costs.nodes += workspace.summaries.filter(id__gt=newest, tree=tree).count()


def _claim(workspace: Workspace, *, tree: Tree) -> ClaimedJob:
    with workspace_scope(workspace):
        ready = workspace.jobs.filter(topic=Job.Topic.TREE_DIRTY, state=Job.State.READY)
        wanted = ready.values_list("id", flat=True).get(target_id=tree.id)
    job = claim_job(wanted)
    if job is None or job.id != wanted:
        raise RuntimeError("The pass over the measured tree was taken by somebody else.")
    return job


@contextmanager
def _counted(costs: Costs) -> Iterator[None]:
    """Each summary that the offline judge writes is a call where a model is configured.

    A file that is retired is no move of a tree that grew.
    """
    summarise = OfflineJudge.summarise

    def counted(self: OfflineJudge, **asked: object) -> object:
        costs.calls += 1
        return summarise(self, **asked)  # type: ignore[arg-type]

    def counted_moves(workspace: Workspace, **asked: Any) -> list[Statement]:
        costs.moves += len(asked["moves"])
        return move_statements(workspace, **asked)

    setattr(OfflineJudge, "summarise", counted)  # noqa: B010 - put back below
    vars(sealing)["move_statements"] = counted_moves
    try:
        yield
    finally:
        setattr(OfflineJudge, "summarise", summarise)  # noqa: B010 - as it was
        vars(sealing)["move_statements"] = move_statements


def _new_tree() -> tuple[Workspace, Tree]:
    tenant = create_tenant(slug=f"bench-{uuid4().hex[:12]}", name="Bench")
    workspace = create_workspace(tenant, slug="bench", name="Bench")
    tree = Tree(
        workspace=workspace,
        scope_id=workspace.pk,
        category=Category.INTEGRATION,
        key="bench:growing",
        title="Growing",
        provider="bench",
        account="growing",
    )
    with workspace_scope(workspace):
        tree.save(force_insert=True)
    return workspace, tree


def _new_leaves(workspace: Workspace, *, tree: Tree, numbers: Sequence[int]) -> list[SourceLeaf]:
    """Unsaved, with their files: what comes before a leaf's row is measured by `bench write`."""
    directory = scope_directory(workspace, tree=tree)
    leaves, files = [], {}
    for number in numbers:
        text = _text(number)
        leaf_id = new_id()
        leaf = SourceLeaf(
            id=leaf_id,
            workspace=workspace,
            scope_id=workspace.pk,
            category=tree.category,
            tree=tree,
            origin_kind=Event.Kind.SYNC_ITEM,
            title=text[:80],
            summary=text,
            body_path=leaf_path(directory, leaf_id=leaf_id),
            fingerprint=fingerprint(text),
            observed_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number),
            confidence=1.0,
        )
        data = render_body({"id": str(leaf_id)}, text)
        body = written_body(leaf.body_path, data)
        leaf.body_sha256, leaf.body_bytes = body.sha256, body.size
        leaves.append(leaf)
        files[leaf.body_path] = data
    save_bodies(files)
    return leaves


def _add_leaf(workspace: Workspace, *, tree: Tree, leaf: SourceLeaf) -> None:
    """Its row and its job, as a new leaf's commit has them: the sidecar does not mirror it."""
    job = NewJob(Job.Topic.TREE_DIRTY, tree.id, tree.scope_id, priority=150)
    with workspace_scope(workspace):
        run_together([insert_statement([leaf]), new_jobs_statement(workspace, jobs=[job])])


def _text(number: int) -> str:
    forms: Sequence[str] = (
        "Batch {0} of the Atlas warehouse was checked in hall {1} and is kept for {2} days.",
        "第{0}批货物在{1}号仓库检查完毕，保留{2}天。",
    )
    return forms[number % 2].format(number, number % 23 + 1, number % 360 + 5)

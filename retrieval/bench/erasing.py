"""How long the request of an erasure takes, whether the text is gone with it, and its completion."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from holamem.database.scope import ALL_SCOPES, workspace_scope
from retrieval.bench.measures import Measure, percentile, spread
from retrieval.definitions import RetrieveRequest
from retrieval.retrieve import retrieve
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.erasure.request import erase_leaf
from workspaces.services.intake import EventDraft, receive_events
from workspaces.services.operators import operator_principal
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.services.worker import run_due_jobs

MOST_REQUEST_MS = 150.0
MOST_COMPLETE_SECONDS = 60.0
LEVELS = 3
SEAL_THRESHOLD = 3
WHOLE_RUN_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True)
class _Erased:
    """`was_read`, `is_read`: a question with its words got it before and after the request."""

    request_ms: float
    complete_seconds: float
    was_read: bool
    is_read: bool


def measure_erase(*, leaves: int, erasures: int) -> list[Measure]:
    """Leaves of one tree with summaries above them, erased one after another by one worker."""
    workspace = _remembering(leaves)
    erased = [_erase(workspace, leaf=leaf) for leaf in _deep_leaves(workspace, most=erasures)]
    request_ms = [one.request_ms for one in erased]
    count = Measure("erasures", len(erased), "erasures", at_least=1)
    if not erased:
        return [count]
    return [
        count,
        *spread("erase_request", request_ms)[:1],
        Measure(
            "erase_request_p95",
            round(percentile(request_ms, 0.95), 1),
            "ms",
            at_most=MOST_REQUEST_MS,
        ),
        Measure(
            "erase_complete_max",
            round(max(one.complete_seconds for one in erased), 2),
            "s",
            at_most=MOST_COMPLETE_SECONDS,
        ),
        Measure("read_before_request", sum(one.was_read for one in erased), "answers", at_least=1),
        Measure("read_after_request", sum(one.is_read for one in erased), "answers", at_most=0),
    ]


def _remembering(leaves: int) -> Workspace:
    tenant = create_tenant(slug=f"bench-{uuid4().hex[:12]}", name="Bench")
    settings = {"seal_threshold": SEAL_THRESHOLD}
    workspace = create_workspace(tenant, slug="bench", name="Bench", settings=settings)
    began = datetime(2026, 1, 1, tzinfo=UTC)
    drafts = [
        EventDraft(
            kind="user_message",
            text=_text(number),
            session="session",
            occurred_at=began + timedelta(minutes=number),
            admission="accepted",
        )
        for number in range(leaves)
    ]
    receive_events(workspace, drafts=drafts, principal=operator_principal(workspace, label="bench"))
    run_due_jobs(drain_seconds=WHOLE_RUN_SECONDS)
    return workspace


def _text(number: int) -> str:
    """Distinct facts on one subject, in both languages."""
    forms: Sequence[str] = (
        "The Atlas gateway keeps batch {0} in hall {1} for {2} days.",
        "Atlas gateway 把第{0}批数据放在{1}号机房，保留{2}天。",
    )
    return forms[number % 2].format(number, number % 23 + 1, number % 360 + 5)


def _deep_leaves(workspace: Workspace, *, most: int) -> list[SourceLeaf]:
    """From all over the highest tree, which has so many levels above its leaves."""
    with workspace_scope(workspace, ALL_SCOPES):
        tree = workspace.trees.order_by("-height", "id")[0]
        if tree.height < LEVELS:
            return []
        sealed = workspace.leaves.filter(tree=tree, status="active", parent__isnull=False)
        leaves = list(sealed.order_by("observed_at", "id"))
    return leaves[:: max(1, len(leaves) // most)][:most]


def _erase(workspace: Workspace, *, leaf: SourceLeaf) -> _Erased:
    principal = operator_principal(workspace, label="bench")
    was_read = _is_read(workspace, leaf=leaf)
    began = time.monotonic()
    erase_leaf(workspace, principal=principal, scopes=ALL_SCOPES, leaf_id=leaf.id)
    request_ms = (time.monotonic() - began) * 1000
    is_read = _is_read(workspace, leaf=leaf)
    began = time.monotonic()
    run_due_jobs(drain_seconds=WHOLE_RUN_SECONDS)
    with workspace_scope(workspace, ALL_SCOPES):
        waiting = workspace.erasures.exclude(status="complete").exists()
    complete = float("inf") if waiting else time.monotonic() - began
    return _Erased(request_ms, complete, was_read=was_read, is_read=is_read)


def _is_read(workspace: Workspace, *, leaf: SourceLeaf) -> bool:
    """`leaf` as it was before the request, with its words."""
    request = RetrieveRequest(query=leaf.summary)
    answer = retrieve(workspace, scopes=ALL_SCOPES, request=request)
    return any(item.row.node_id == leaf.id for item in answer.evidence)

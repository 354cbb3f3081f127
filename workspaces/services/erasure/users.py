"""Erasing an end user: the whole private memory, all that came in for it, and the person's names.

From the request's commit on nothing of it is read and no key of the person is admitted; the row
stays without its names, because receipts and tombstones point to it. Whoever is called the same
later is another person. The job does the rest, as for a leaf.
"""

import json
from collections.abc import Sequence
from uuid import UUID

from django.db.models import F, Value
from django.db.models.functions import Now, Replace

from holamem.clock import now
from holamem.database.scope import eraser_scope, workspace_scope
from holamem.errors import NotFound
from workspaces.bodies import delete_bodies
from workspaces.models.erasure import Erasure
from workspaces.models.jobs import Job
from workspaces.models.log import Category, Chunk, Event, IdempotencyRecord
from workspaces.models.tenancy import EndUser, Workspace
from workspaces.models.trees import GONE_LEAVES, SourceLeaf
from workspaces.services import audit
from workspaces.services.erasure.entry import write_entry_early
from workspaces.services.erasure.files import remove_empty_folders, walk
from workspaces.services.erasure.receipts import Receipt, receipt_of
from workspaces.services.erasure.redaction import ERASED_REASON, blank_events
from workspaces.services.erasure.request import REASON_CHARACTERS, queue_erasure
from workspaces.services.erasure.subjects import forget_names, subjects_of
from workspaces.services.erasure.taking import lock_family, take_out
from workspaces.services.principals import Principal


def erase_end_user(
    workspace: Workspace, *, principal: Principal, user: EndUser, reason: str = ""
) -> Receipt:
    """Raises NotFound for one that was erased meanwhile."""
    with workspace_scope(workspace, [user.id]):
        row = workspace.end_users.select_for_update().filter(id=user.id, erased_at=None).first()
        if row is None:
            raise NotFound("There is no such end user.")
        erasure = Erasure(
            workspace=workspace,
            scope_id=user.id,
            target_kind=Erasure.TargetKind.USER,
            target_id=user.id,
            reason=reason[:REASON_CHARACTERS],
            requested_by=_requested_by(principal, user=row),
            requested_at=now(),
        )
        take_all(workspace, erasure=erasure)
        forget_person(workspace, user=row)
        audit.record(
            workspace,
            principal=principal,
            action="user.erased",
            target_id=user.id,
            detail={"erasure_id": str(erasure.id)},
            scope_id=user.id,
        )
        queue_erasure(workspace, erasure=erasure)
    write_entry_early(workspace, erasure=erasure)
    return receipt_of(erasure)


def _requested_by(principal: Principal, *, user: EndUser) -> str:
    """A key may be called like the person whose names have to go."""
    label = principal.label[:200]
    return "key:erased" if user.ref in label else label


def leaves_of_scope(workspace: Workspace, *, scope_id: UUID) -> list[SourceLeaf]:
    """All that are not gone yet, in order of id; inside the step of the scope."""
    rows = workspace.leaves.filter(scope_id=scope_id).exclude(status__in=GONE_LEAVES)
    return list(rows.order_by("id"))


def take_all(workspace: Workspace, *, erasure: Erasure) -> int:
    """Everything of the scope, inside its step. Saves the erasure; returns how many leaves went."""
    scope_id = erasure.scope_id
    _stop_work(workspace, scope_id=scope_id)
    leaves = lock_family(
        workspace,
        family=lambda: leaves_of_scope(workspace, scope_id=scope_id),
        tree_ids=workspace.trees.filter(scope_id=scope_id).values_list("id", flat=True),
    )
    take_out(workspace, erasure=erasure, leaves=leaves)
    _clear_events(workspace, erasure=erasure)
    subjects = subjects_of(workspace, scope_id=scope_id)
    forget_names(workspace, entity_ids=subjects, is_gone=True)
    return len(leaves)


def _stop_work(workspace: Workspace, *, scope_id: UUID) -> None:
    """What is being judged is not judged to its end: the lease that its commit needs is gone."""
    jobs = workspace.jobs.filter(scope_id=scope_id)
    waiting = jobs.filter(topic=Job.Topic.EVENT_RECEIVED).exclude(state=Job.State.DONE)
    waiting.update(state=Job.State.DONE, done_at=Now(), lease_token=None, lease_until=None)
    jobs.exclude(error="").update(error="")


def _clear_events(workspace: Workspace, *, erasure: Erasure) -> None:
    """Also of what never became memory. Sessions and sources may name the person."""
    events = workspace.events.filter(scope_id=erasure.scope_id)
    ids = list(events.order_by("id").values_list("id", flat=True))
    chunks = workspace.chunks.filter(scope_id=erasure.scope_id)
    chunks.filter(outcome=Chunk.Outcome.PENDING).update(outcome=Chunk.Outcome.REJECTED)
    chunks.update(reason=ERASED_REASON, text="")
    blank_events(workspace, event_ids=ids)
    events.update(session_ref="", agent_ref="", run_ref="", status=Event.Status.PROCESSED)
    events.filter(category=Category.INTERACTION).update(source="", external_id="")
    known = {entry["event_id"]: entry for entry in erasure.tombstones["events"]}
    added = {str(event_id): {"event_id": str(event_id), "spans": None} for event_id in ids}
    merged = {**known, **added}
    erasure.tombstones["events"] = [merged[event_id] for event_id in sorted(merged)]
    erasure.counts = {**erasure.counts, "events": len(merged), "chunks": chunks.count()}
    erasure.save(update_fields=["tombstones", "counts"])


def forget_person(workspace: Workspace, *, user: EndUser) -> None:
    """Names and keys, inside the step. The slug is a folder's name and goes with the files."""
    _clean_answers(workspace, ref=user.ref)
    workspace.api_keys.filter(end_user=user, revoked_at=None).update(revoked_at=now())
    workspace.end_users.filter(id=user.id).update(
        ref=f"erased:{user.id}",
        name="",
        metadata={},
        erased_at=F("erased_at") if user.erased_at else now(),
    )


def _clean_answers(workspace: Workspace, *, ref: str) -> None:
    """Kept answers that name the person, also those of the tenant about keys."""
    name = json.dumps(ref, ensure_ascii=False)
    with eraser_scope():
        keys = workspace.tenant.api_keys.values("id")
        told = IdempotencyRecord.objects.filter(api_key_id__in=keys, answer_body__contains=name)
        told.update(answer_body="", is_cleaned=True)


def remove_all_files(workspace: Workspace, *, scope_id: UUID) -> None:
    """The person's folder with all that is in it: nothing of it is anybody's memory any more."""
    folder = _folder(workspace, scope_id=scope_id)
    if folder is not None:
        remove_folder(folder)


def remove_folder(folder: str) -> None:
    delete_bodies(sorted(walk(folder)))
    remove_empty_folders([folder])


def _folder(workspace: Workspace, *, scope_id: UUID) -> str | None:
    with workspace_scope(workspace, [scope_id]):
        slug = workspace.end_users.filter(id=scope_id).values_list("slug", flat=True).first()
    return None if slug is None else f"{_root(workspace)}/{slug}"


def _root(workspace: Workspace) -> str:
    return f"{workspace.tenant.slug}/{workspace.slug}/memory/users"


def forget_folder(workspace: Workspace, *, scope_id: UUID) -> Sequence[str]:
    """The last name: rows point to a nameless folder. Inside the step; returns the old folder."""
    old = workspace.end_users.filter(id=scope_id).values_list("slug", flat=True).first()
    new = f"erased-{scope_id.hex}"
    if old in (None, new):
        return ()
    moved = Replace(F("body_path"), Value(f"/users/{old}/"), Value(f"/users/{new}/"))
    with eraser_scope():
        workspace.leaves.filter(scope_id=scope_id).update(body_path=moved)
        workspace.summaries.filter(scope_id=scope_id).update(body_path=moved)
        workspace.retired_bodies.filter(scope_id=scope_id).delete()
    workspace.end_users.filter(id=scope_id).update(slug=new)
    return (f"{_root(workspace)}/{old}",)

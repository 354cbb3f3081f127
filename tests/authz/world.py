"""Two tenants who say the same: same slugs, same texts, same people, and one secret word each."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db.models import Model
from django.test import Client
from django.utils import timezone

from agents.hot.text_memory import Writer, upsert_topic
from agents.hot.topics import TopicDraft
from agents.services.agents import create_agent
from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from retrieval.definitions import RetrieveRequest
from retrieval.retrieve import retrieve
from tests.agents.replies import talk
from tests.api.client import Caller, caller_for
from tests.dashboard.people import make_person, signed_in_client
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, principal_of, remember
from workspaces.models.jobs import Job
from workspaces.models.tenancy import ApiKey, EndUser, Membership, Tenant, Workspace
from workspaces.services.api_keys import issue_key
from workspaces.services.corrections.correct import correct_leaf
from workspaces.services.erasure.request import erase_leaf
from workspaces.services.invitations import invite
from workspaces.services.members import Manager
from workspaces.services.principals import principal_for_user
from workspaces.services.results import EventResult
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.services.transfer.transfers import request_export, request_import

SLUG, OTHER_SLUG = "notes", "other"
ANA, BEN = "ana", "ben"
ROLES = ("viewer", "member", "admin", "owner")


@dataclass
class Side:
    """`ids` fill the parts of addresses; `private` are those of Ana's memory alone."""

    tenant: Tenant
    workspace: Workspace
    other: Workspace
    canary: str
    private_canary: str
    users: dict[str, EndUser]
    ids: dict[str, str] = field(default_factory=dict)
    private: dict[str, str] = field(default_factory=dict)
    callers: dict[str, Caller] = field(default_factory=dict)
    people: dict[str, Client] = field(default_factory=dict)


def make_side() -> Side:
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
    workspace = create_workspace(tenant, slug=SLUG, name="Notes")
    other = create_workspace(tenant, slug=OTHER_SLUG, name="Other")
    canary, private = f"zq{uuid4().hex[:12]}", f"zp{uuid4().hex[:12]}"
    results = _remembered(workspace, canary=canary, private=private)
    with workspace_scope(workspace, ALL_SCOPES):
        users = {user.ref: user for user in workspace.end_users.all()}
    side = Side(tenant, workspace, other, canary, private, users)
    traces = _traces(workspace, results)
    side.ids = {**_memory_ids(workspace, results[0]), **traces}
    side.ids |= {"ref": ANA, "ws": SLUG, "tenant": tenant.slug, "workspace": SLUG}
    side.ids |= _talk_ids(workspace, says=canary)
    private_talk = _talk_ids(workspace, says=private, user=users[ANA])
    side.private = {
        **side.ids,
        **_memory_ids(workspace, results[-2], scope=users[ANA].id),
        **private_talk,
    }
    _add_callers(side)
    return side


def _remembered(workspace: Workspace, *, canary: str, private: str) -> list[EventResult]:
    """Shared facts enough to seal, then one of Ana's and one of Ben's."""
    facts = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:10])]
    secret = draft(f"The Atlas gateway is opened with the phrase {canary}.", minutes=20)
    hers = draft(f"The Atlas gateway has the nickname {private}.", minutes=30, user_id=ANA)
    his = draft("The Atlas gateway bores me.", minutes=40, user_id=BEN)
    return remember(workspace, *facts, secret, hers, his)


def _memory_ids(
    workspace: Workspace, result: EventResult, *, scope: UUID | None = None
) -> dict[str, str]:
    [chunk] = result.chunks
    with workspace_scope(workspace, ALL_SCOPES):
        leaf = workspace.leaves.select_related("tree", "entity").get(id=chunk.leaf_id)
        sealed = workspace.summaries.filter(status="sealed")
        summary = sealed.filter(tree__scope_id=scope or workspace.id).first()
    assert leaf.entity is not None
    return {
        "event_id": str(result.event_id),
        "leaf_id": str(leaf.id),
        "node_id": str(leaf.id),
        "tree_id": str(leaf.tree_id),
        "key": leaf.tree.key,
        "slug": leaf.entity.slug,
        "entity_id": str(leaf.entity.id),
        "summary_id": str(summary.id if summary else uuid4()),
    }


def _traces(workspace: Workspace, results: list[EventResult]) -> dict[str, str]:
    """What asking, correcting, erasing and connecting leave behind."""
    who = {"principal": principal_of(workspace), "scopes": ALL_SCOPES}
    asked = retrieve(
        workspace, scopes=None, request=RetrieveRequest(query="Which colour has the moon?")
    )
    corrected = correct_leaf(
        workspace, leaf_id=_leaf(results[1]), text="The Atlas gateway logs to the journal.", **who
    )
    erasure = erase_leaf(workspace, leaf_id=_leaf(results[2]), **who)
    drain(workspace)
    with workspace_scope(workspace, ALL_SCOPES):
        connector = workspace.connectors.create(
            scope_id=workspace.id, provider="files", account="notes", kind="markdown_folder"
        )
        webhook = workspace.webhooks.create(
            scope_id=workspace.id, url="http://localhost/hook", salt="0"
        )
        gap = workspace.gaps.first()
        assert gap is not None
        job = Job.objects.create(
            workspace=workspace,
            scope_id=workspace.id,
            topic=Job.Topic.NODE_CREATED,
            target_id=uuid4(),
            state=Job.State.PARKED,
            next_try_at=timezone.now(),
        )
    return {
        "retrieval_id": str(asked.retrieval_id),
        "audit_id": str(corrected.audit_id),
        "erasure_id": str(erasure.erasure_id),
        "connector_id": _id(connector),
        "provider": "files",
        "account": "notes",
        "gap_id": _id(gap),
        "webhook_id": _id(webhook),
        **_transfers(workspace),
        "job_id": _id(job),
    }


def _talk_ids(workspace: Workspace, *, says: str, user: EndUser | None = None) -> dict[str, str]:
    """A run that waits for approval, with the secret in its message, its call and a topic."""
    scope_id = workspace.id if user is None else user.id
    topic = TopicDraft("atlas", f"The phrase is {says}.", f"About {says}")
    saved = upsert_topic(workspace, scope_id=scope_id, topic=topic, writer=Writer("tool"))
    talking = talk(workspace, user_id=scope_id, content=f"I say {says}.")
    asked = {"action": "save", "name": "note", "content": says, "summary": says}
    talking.reply(("memory_write", asked))
    assert talking.approval is not None
    return {
        "session_id": _id(talking.session),
        "message_id": str(talking.run.trigger_message_id),
        "run_id": _id(talking.run),
        "approval_id": _id(talking.approval),
        "tool_call_id": str(talking.calls[0].id),
        "scope": "workspace" if user is None else "user",
        "name": "atlas",
        "memory_id": _id(saved),
        "agent": create_agent(workspace, slug=f"a-{uuid4().hex}").slug,
    }


def _transfers(workspace: Workspace) -> dict[str, str]:
    """An archive that can be fetched, and an import that was refused."""
    admin = principal_of(workspace)
    made = request_export(workspace, principal=admin)
    sent = request_import(workspace, principal=admin, content=[b"PK\x03\x04 and nothing else"])
    drain(workspace)
    return {"export_id": _id(made), "import_id": _id(sent)}


def _leaf(result: EventResult) -> UUID:
    leaf_id = result.chunks[0].leaf_id
    assert leaf_id is not None
    return leaf_id


def _id(row: Model) -> str:
    return str(row.pk)


def _add_callers(side: Side) -> None:
    def key(**values: Any) -> Caller:
        return caller_for(side.tenant, **values)

    side.callers = {
        "owner": key(),
        "read": key(permissions=["memory:read"]),
        "write": key(permissions=["memory:write"]),
        "run": key(permissions=["agents:run"]),
        "other workspace": key(workspace=side.other),
        "ben": key(workspace=side.workspace, end_user=side.users[BEN]),
        "expired": key(expires_at=now() - timedelta(seconds=1)),
        "revoked": key(),
    }
    prefix = str(side.callers["revoked"].token).split("_")[1]
    with system_scope():
        ApiKey.objects.filter(prefix=prefix).update(revoked_at=now())
    spare = issue_key(side.tenant, name="spare", permissions=["memory:read"])
    side.ids |= {"key_id": _id(spare.key)}
    side.private |= {"key_id": _id(spare.key)}
    people = {role: make_person(side.tenant, role=role) for role in ROLES}
    side.people = {role: signed_in_client(user) for role, user in people.items()}
    guest = make_person(side.tenant, role="viewer")
    manager = Manager(principal_for_user(people["owner"], tenant=side.tenant), people["owner"])
    issued = invite(manager, role="viewer")
    with system_scope():
        member = Membership.objects.get(tenant=side.tenant, user_id=guest.pk)
    added = {"member_id": _id(member), "invitation_id": str(issued.id), "token": "no-such-token"}
    side.ids |= added
    side.private |= added


def nobody(ids: dict[str, str]) -> dict[str, str]:
    """Ids of the same form that no row has; slugs of tenant and workspace stay."""
    kept = {"ws", "tenant", "workspace"}
    return {
        name: value if name in kept else "interaction:nobody" if name == "key" else str(uuid4())
        for name, value in ids.items()
    }

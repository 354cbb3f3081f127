"""The routes of the earlier contract, as adapters: the workspace is named in the body."""

from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from holamem.clock import offset_minutes
from holamem.errors import InvalidInput, NotFound
from holamem.http.openapi import IDEMPOTENCY_KEY, operation
from retrieval.api.compatibility_serializers import (
    DocumentAnswer,
    GetBody,
    MemoryStatusAnswer,
    SearchAnswer,
    SearchBody,
    StatusBody,
    StatusQuery,
    SyncAnswer,
    SyncBody,
    UpsertAnswer,
    UpsertBody,
)
from retrieval.definitions import RetrieveRequest
from retrieval.gaps import count_open_gaps
from retrieval.retrieve import retrieve
from workspaces.api.base import WorkspaceView
from workspaces.api.permissions import READ
from workspaces.models.log import Chunk
from workspaces.models.trees import GONE_LEAVES
from workspaces.services.documents import (
    SOURCE,
    document_id,
    leaves_of_document,
    wait_until_idle,
)
from workspaces.services.intake import EventDraft, IdempotencyRequest, receive_events
from workspaces.services.node_view import NodeView, node_view
from workspaces.services.principals import select_scopes, workspace_for, workspaces_of
from workspaces.services.results import EventResult, wait_for_event
from workspaces.services.status import WorkspaceStatus, workspace_status

PLACES = {"leaves": "leaf", "summaries": "summary"}
WRITTEN = (Chunk.Outcome.CREATED, Chunk.Outcome.SUPERSEDING)
PROBLEMS = (404, 413, 415)


class CompatibilityView(WorkspaceView):
    """Finds the workspace once the body is read."""

    keeps_answers = False  # questions, and one event, which keeps its own answer

    def find_owner(self, **kwargs: Any) -> None:
        """The address names no workspace."""

    def enter(self, named: dict[str, Any]) -> None:
        """Raises InvalidInput when no workspace is named and the key is bound to none."""
        slug, earlier = named.pop("workspace", None), named.pop("workspace_id", None)
        if slug is not None and earlier is not None and slug != earlier:
            raise InvalidInput("Give workspace or workspace_id, not both.", field="workspace_id")
        wanted = slug or earlier
        if wanted is None:
            wanted = self._bound_slug()
        self.workspace = workspace_for(self.principal, slug=wanted)

    def _bound_slug(self) -> str:
        if self.principal.workspace_id is None:
            raise InvalidInput(
                "This key needs a workspace.", field="workspace", detail={"code": "required"}
            )
        bound = workspaces_of(self.principal)
        if not bound:
            raise NotFound("There is no such workspace.")
        return bound[0].slug


class SearchView(CompatibilityView):
    permissions = {"POST": READ}
    bodies = {"POST": SearchBody}

    @operation(
        "compatibility_search",
        summary="Search memory",
        answers={200: SearchAnswer},
        problems=PROBLEMS,
        takes_key=False,
    )
    def post(self, request: Request) -> Response:
        """`memory/retrieve` without a model's reasoning, as a list of hits."""
        body = self.read_body(request)
        self.enter(body)
        user_id, least = body.get("user_id"), body.get("min_score", 0.0)
        selection = select_scopes(self.workspace, principal=self.principal, user_id=user_id)
        asked = RetrieveRequest(
            query=body["query"], max_results=body["max_results"], user_id=user_id, reasoning="off"
        )
        found = retrieve(self.workspace, scopes=selection.scopes, request=asked).as_dict()
        shown = {
            "workspace_id": self.workspace.slug,
            "query": body["query"],
            "retrieval_id": found["retrieval_id"],
            "coverage": found["coverage"]["level"],
            "hits": [_hit(item) for item in found["evidence"] if item["score"] >= least],
        }
        return Response(shown)


def _hit(item: dict[str, Any]) -> dict[str, Any]:
    place = "leaves" if item["node_kind"] == "leaf" else "summaries"
    kept = ("node_id", "node_kind", "tree_key", "title", "score", "observed_at", "status")
    path = f"{place}/{item['node_id']}"
    return {"path": path, "text": item["excerpt"], **{name: item[name] for name in kept}}


class GetView(CompatibilityView):
    permissions = {"POST": READ}
    bodies = {"POST": GetBody}

    @operation(
        "compatibility_get",
        summary="Read one node",
        answers={200: DocumentAnswer},
        problems=PROBLEMS,
        takes_key=False,
    )
    def post(self, request: Request) -> Response:
        """A leaf or a summary by the path of a hit, or the newest text of an upsert's path."""
        body = self.read_body(request)
        self.enter(body)
        selection = select_scopes(
            self.workspace, principal=self.principal, user_id=body.get("user_id")
        )
        nodes = self._nodes(body["path"], scopes=selection.scopes)
        first = nodes[0]
        shown = {
            "workspace_id": self.workspace.slug,
            "path": body["path"],
            "node_id": str(first.node.id),
            "node_kind": first.node.kind,
            "title": first.node.title,
            "text": "\n\n".join(node.body or "" for node in nodes),
            "status": first.node.status,
        }
        return Response(shown)

    def _nodes(self, path: str, *, scopes: Any) -> list[NodeView]:
        place, _, name = path.partition("/")
        node_id = _uuid(name)
        if place in PLACES and node_id is not None:
            found = node_view(self.workspace, scopes=scopes, node_id=node_id)
            if found.node.kind != PLACES[place] or _is_hidden(found):
                raise NotFound("There is no such node.")
            return [found]
        ids = leaves_of_document(self.workspace, scopes=scopes, path=path)
        return [node_view(self.workspace, scopes=scopes, node_id=leaf_id) for leaf_id in ids]


def _is_hidden(found: NodeView) -> bool:
    gone = found.node.status in GONE_LEAVES
    return gone or (found.node.kind == "summary" and found.node.withheld)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


class UpsertView(CompatibilityView):
    bodies = {"POST": UpsertBody}

    @operation(
        "compatibility_upsert",
        summary="Remember a text and wait for it",
        answers={200: UpsertAnswer, 202: UpsertAnswer},
        problems=(*PROBLEMS, 409, 422),
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, request: Request) -> Response:
        """One accepted memory. 202 when its processing takes longer than `timeout_s`."""
        body = self.read_body(request)
        self.enter(body)
        received = receive_events(
            self.workspace,
            drafts=[_draft(body)],
            principal=self.principal,
            idempotency=self._idempotency(request),
        )
        result = wait_for_event(
            self.workspace,
            scopes=self.id_scopes,
            event_id=received.event_ids[0],
            timeout_seconds=body["timeout_s"],
        )
        shown = UpsertAnswer(self._shown(result, path=body.get("path"))).data
        headers = {"Idempotent-Replayed": "true"} if received.replayed else {}
        return Response(shown, status=200 if result.is_settled else 202, headers=headers)

    def _idempotency(self, request: Request) -> IdempotencyRequest | None:
        """The workspace is in the body: it belongs to the address that a key is about."""
        keyed = self.idempotency(request)
        return keyed and replace(keyed, path=f"{keyed.path}?workspace={self.workspace.slug}")

    def _shown(self, result: EventResult, *, path: str | None) -> dict[str, Any]:
        return {
            "workspace_id": self.workspace.slug,
            "path": path,
            "updated": any(chunk.outcome in WRITTEN for chunk in result.chunks),
            "event_id": result.event_id,
            "status": result.status,
            "chunks": result.chunks,
        }


def _draft(body: dict[str, Any]) -> EventDraft:
    path, text = body.get("path"), body["content"]
    metadata = body.get("metadata", {})
    return EventDraft(
        kind=body["kind"],
        text=text,
        user_id=body.get("user_id"),
        occurred_at=body.get("occurred_at"),
        offset_minutes=offset_minutes(body.get("occurred_at")),
        source=SOURCE,
        admission="accepted",
        metadata=metadata if path is None else {**metadata, "path": path},
        external_id="" if path is None else document_id(path, text=text),
    )


class MemoryStatusView(CompatibilityView):
    permissions = {"POST": READ}
    queries = {"GET": StatusQuery}
    bodies = {"POST": StatusBody}

    @operation(
        "compatibility_status", summary="How far memory is", answers={200: MemoryStatusAnswer}
    )
    def get(self, request: Request) -> Response:
        """Counts, backlog and open gaps."""
        self.enter(self.params)
        return Response(self._shown())

    @operation(
        "compatibility_status_posted",
        summary="How far memory is, with the workspace in the body",
        answers={200: MemoryStatusAnswer},
        problems=PROBLEMS,
        takes_key=False,
    )
    def post(self, request: Request) -> Response:
        """The same, as the earlier contract asks for it."""
        self.enter(self.read_body(request))
        return Response(self._shown())

    def _shown(self) -> dict[str, Any]:
        return status_shown(self, workspace_status(self.workspace, scopes=self.id_scopes))


class SyncView(CompatibilityView):
    bodies = {"POST": SyncBody}

    @operation(
        "compatibility_sync",
        summary="Wait until nothing is left to do",
        answers={200: SyncAnswer},
        problems=PROBLEMS,
        takes_key=False,
    )
    def post(self, request: Request) -> Response:
        """The workers do the work; this answers when it is done, or when the time is over."""
        body = self.read_body(request)
        self.enter(body)
        status = wait_until_idle(
            self.workspace, scopes=self.id_scopes, timeout_seconds=body["timeout_s"]
        )
        shown = status_shown(self, status)
        return Response({**shown, "queued": not status.idle, "reason": body.get("reason")})


def status_shown(view: CompatibilityView, status: WorkspaceStatus) -> dict[str, Any]:
    counts = {name: value for name, value in asdict(status).items() if name != "idle"}
    return {
        "workspace_id": view.workspace.slug,
        "synced": status.idle,
        **counts,
        "open_gaps": count_open_gaps(view.workspace, scopes=view.id_scopes),
    }

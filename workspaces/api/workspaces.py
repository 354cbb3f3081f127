"""Workspaces, and what a key can say about itself."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from holamem.errors import PermissionDenied
from holamem.http.openapi import operation
from workspaces.api.base import ApiView, WorkspaceView
from workspaces.api.pagination import PageQuery, page_answer, wanted_slice
from workspaces.api.permissions import ADMIN, ANY_KEY
from workspaces.api.serializers_workspaces import (
    ChangedWorkspaceSerializer,
    MeSerializer,
    NewWorkspaceSerializer,
    WorkspacePageSerializer,
    WorkspaceSerializer,
)
from workspaces.services.listing import slice_rows, tenant_of
from workspaces.services.principals import workspaces_of
from workspaces.services.tenants import archive_workspace, create_workspace, update_workspace


class MeView(ApiView):
    permissions = {"GET": ANY_KEY}

    @operation("me_get", summary="What this key is", answers={200: MeSerializer}, problems=())
    def get(self, request: Request) -> Response:
        """The key's tenant, the workspace and end user it is bound to, and its permissions."""
        principal = self.principal
        bound = workspaces_of(principal) if principal.workspace_id is not None else []
        shown = {
            "principal": principal,
            "tenant": tenant_of(principal),
            "workspace": bound[0] if bound else None,
            "permissions": sorted(principal.permissions),
        }
        return Response(MeSerializer(shown).data)


class WorkspacesView(ApiView):
    permissions = {"POST": ADMIN}
    queries = {"GET": PageQuery}
    bodies = {"POST": NewWorkspaceSerializer}

    @operation(
        "workspaces_list",
        summary="List workspaces",
        answers={200: WorkspacePageSerializer},
        problems=(),
    )
    def get(self, request: Request) -> Response:
        """The workspaces that this key may use, by slug; archived ones are left out."""
        owner: UUID = self.principal.tenant_id
        wanted = wanted_slice(request, params=self.params, owner=owner)
        listed = slice_rows(workspaces_of(self.principal), wanted=wanted)
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=owner,
                show=lambda row: dict(WorkspaceSerializer(row).data),
            )
        )

    @operation(
        "workspaces_create",
        summary="Create a workspace",
        answers={201: WorkspaceSerializer},
        problems=(409, 413, 415),
    )
    def post(self, request: Request) -> Response:
        """One memory root. Needs the permission `admin` and a key of the whole tenant."""
        if self.principal.workspace_id is not None:
            raise PermissionDenied("A key of one workspace cannot create another.")
        body = self.read_body(request)
        created = create_workspace(
            tenant_of(self.principal),
            slug=body["slug"],
            name=body["name"],
            settings=body.get("settings"),
            principal=self.principal,
        )
        return Response(WorkspaceSerializer(created).data, status=201)


class WorkspaceDetailView(WorkspaceView):
    permissions = {"PATCH": ADMIN, "DELETE": ADMIN}
    bodies = {"PATCH": ChangedWorkspaceSerializer}

    @operation("workspaces_get", summary="Look at a workspace", answers={200: WorkspaceSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """Its name and its settings, with the defaults filled in."""
        return Response(WorkspaceSerializer(self.workspace).data)

    @operation(
        "workspaces_update",
        summary="Change a workspace",
        answers={200: WorkspaceSerializer},
        problems=(404, 413, 415),
    )
    def patch(self, request: Request, ws: str) -> Response:
        """Change the name or some settings. The slug never changes."""
        body = self.read_body(request)
        changed = update_workspace(
            self.workspace,
            name=body.get("name"),
            settings=body.get("settings"),
            principal=self.principal,
        )
        return Response(WorkspaceSerializer(changed).data)

    @operation("workspaces_archive", summary="Archive a workspace", answers={204: None})
    def delete(self, request: Request, ws: str) -> Response:
        """Hide it from every key. Its memory is kept, and its slug stays taken."""
        archive_workspace(self.workspace, principal=self.principal)
        return Response(status=204)

"""Trees and entities."""

from rest_framework.request import Request
from rest_framework.response import Response

from holamem.database.scope import workspace_scope
from holamem.http.openapi import operation
from workspaces import access
from workspaces.api.base import UserQuery, WorkspaceView
from workspaces.api.pagination import page_answer, wanted_slice
from workspaces.api.serializers_memory import (
    EntityListQuery,
    EntityPageSerializer,
    EntitySerializer,
    SealRequestedSerializer,
    TreeListQuery,
    TreePageSerializer,
    TreeRebuildSerializer,
    TreeSerializer,
)
from workspaces.services.listing import list_entities, list_trees, tree_line
from workspaces.services.rebuild.trees import rebuild_tree
from workspaces.services.topology import request_seal


class TreesView(WorkspaceView):
    queries = {"GET": TreeListQuery}

    @operation("trees_list", summary="List trees", answers={200: TreePageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """Trees that hold leaves, oldest first. With `user_id` that end user's trees as well."""
        listed = list_trees(
            self.workspace,
            scopes=self.selection().scopes,
            wanted=wanted_slice(request, params=self.params, owner=self.workspace.id),
            category=self.params.get("category"),
        )
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=self.workspace.id,
                show=lambda row: dict(TreeSerializer(row).data),
            )
        )


class TreeView(WorkspaceView):
    queries = {"GET": UserQuery}

    @operation("trees_get", summary="Look at one tree", answers={200: TreeSerializer})
    def get(self, request: Request, ws: str, key: str) -> Response:
        """A tree by its key, such as `interaction:alice`. A key exists once per end user."""
        return self.answer(key)

    def answer(self, key: str) -> Response:
        line = tree_line(self.workspace, scopes=self.selection().scopes, key=key)
        return Response(TreeSerializer(line).data)


class TreeSealView(TreeView):
    """A tree's own key may end in `:seal`, so reading this address reads that tree."""

    queries = {"GET": UserQuery, "POST": UserQuery}

    @operation("trees_get_named_seal", summary="", answers={}, exclude=True)
    def get(self, request: Request, ws: str, key: str) -> Response:
        return self.answer(f"{key}:seal")

    @operation("trees_seal", summary="Seal what is due", answers={202: SealRequestedSerializer})
    def post(self, request: Request, ws: str, key: str) -> Response:
        """Queue a pass over the tree: full buffers are sealed, stale summaries replaced."""
        tree = access.get_tree(self.workspace, scopes=self.selection().scopes, key=key)
        self.read_no_body(request)
        with workspace_scope(self.workspace, self.id_scopes):
            request_seal(self.workspace, tree=tree)
        return Response({"tree_id": str(tree.id), "status": "queued"}, status=202)


class TreeRebuildView(TreeView):
    """A tree's own key may end in `:rebuild`, so reading this address reads that tree."""

    queries = {"GET": UserQuery, "POST": UserQuery}

    @operation("trees_get_named_rebuild", summary="", answers={}, exclude=True)
    def get(self, request: Request, ws: str, key: str) -> Response:
        return self.answer(f"{key}:rebuild")

    @operation(
        "trees_rebuild",
        summary="Write a tree's summaries again",
        answers={202: TreeRebuildSerializer},
    )
    def post(self, request: Request, ws: str, key: str) -> Response:
        """Every summary is written again from its active leaves, from the bottom up, and search
        entries are put anew. Each summary stays readable until the new one is there.
        """
        is_bound = self.principal.end_user_id is not None
        scopes = self.change_scopes if is_bound else self.selection().scopes
        access.get_tree(self.workspace, scopes=scopes, key=key)
        self.read_no_body(request)
        queued = rebuild_tree(self.workspace, principal=self.principal, scopes=scopes, key=key)
        return Response(
            {
                "tree_id": str(queued.tree_id),
                "status": "queued",
                "summaries": queued.summaries,
                "audit_id": str(queued.audit_id),
            },
            status=202,
        )


class EntitiesView(WorkspaceView):
    queries = {"GET": EntityListQuery}

    @operation("entities_list", summary="List entities", answers={200: EntityPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """What the memory is about, oldest first, with names and aliases."""
        listed = list_entities(
            self.workspace,
            scopes=self.selection().scopes,
            wanted=wanted_slice(request, params=self.params, owner=self.workspace.id),
            type=self.params.get("type"),
        )
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=self.workspace.id,
                show=lambda row: dict(EntitySerializer(row).data),
            )
        )

"""The hot memory as people see it: read and delete, and its trace."""

from rest_framework.request import Request
from rest_framework.response import Response

from agents.api.base import ConversationView
from agents.api.serializers import (
    HistoryEntrySerializer,
    HistoryPageSerializer,
    TextMemoryLineSerializer,
    TextMemoryPageSerializer,
    TextMemorySerializer,
)
from agents.hot.text_memory import Writer, delete_topic, get_text_memory
from agents.models.hot_memory import INDEX_NAME, TextMemory, TextMemoryVersion
from agents.services.pages import names_of, page_of_history, page_of_text_memories
from holamem.errors import Conflict, NotFound
from holamem.http.openapi import operation
from workspaces.api.base import UserQuery
from workspaces.api.pagination import PageQuery, page_answer, wanted_slice

SHARED, PERSONAL = "workspace", "user"


class HotQuery(PageQuery, UserQuery):
    pass


class TextMemoriesView(ConversationView):
    queries = {"GET": HotQuery}

    @operation(
        "text_memory_list",
        summary="List text memories",
        answers={200: TextMemoryPageSerializer},
    )
    def get(self, request: Request, ws: str) -> Response:
        """Each index and its topics: the workspace's, with `user_id` that end user's too."""
        owner = self.workspace.id
        listed = page_of_text_memories(
            self.workspace,
            scopes=self.selection().scopes,
            wanted=wanted_slice(request, params=self.params, owner=owner),
        )
        names = names_of(self.workspace, scope_ids=[row.scope_id for row in listed.rows])
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=owner,
                show=lambda row: dict(TextMemoryLineSerializer(row, context={"names": names}).data),
            )
        )


class TextMemoryView(ConversationView):
    queries = {"GET": UserQuery, "DELETE": UserQuery}

    @operation("text_memory_get", summary="Read a text memory", answers={200: TextMemorySerializer})
    def get(self, request: Request, ws: str, scope: str, name: str) -> Response:
        """`index`, or a topic by its name; of the `workspace`, or of the `user` of `user_id`."""
        row = self.row(scope=scope, name=name)
        names = names_of(self.workspace, scope_ids=[row.scope_id])
        return Response(TextMemorySerializer(row, context={"names": names}).data)

    @operation(
        "text_memory_delete",
        summary="Delete a topic",
        answers={204: None},
        problems=(404, 409),
    )
    def delete(self, request: Request, ws: str, scope: str, name: str) -> Response:
        """With its line in the index. Its versions are kept; the index itself can't be deleted."""
        row = self.row(scope=scope, name=name, for_change=True)
        if row.kind == TextMemory.Kind.INDEX:
            raise Conflict("The index goes with its topics.")
        delete_topic(
            self.workspace,
            scope_id=row.scope_id,
            name=row.name,
            writer=Writer(TextMemoryVersion.Origin.PERSON),
        )
        return Response(status=204)

    def row(self, *, scope: str, name: str, for_change: bool = False) -> TextMemory:
        """Raises NotFound: a key of one end user changes nothing that is shared."""
        selected = self.selection()
        is_personal = scope == PERSONAL and selected.write_scope != self.workspace.id
        is_shared = scope == SHARED and not (for_change and self.principal.end_user_id is not None)
        if not (is_personal or is_shared):
            raise NotFound("There is no such text memory.")
        return get_text_memory(
            self.workspace,
            scopes=selected.scopes,
            scope_id=selected.write_scope if is_personal else self.workspace.id,
            kind=TextMemory.Kind.INDEX if name == INDEX_NAME else TextMemory.Kind.TOPIC,
            name=name,
        )


class HistoryView(ConversationView):
    queries = {"GET": HotQuery}

    @operation("history_list", summary="List the history", answers={200: HistoryPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """What was done to the hot memory, newest first; each entry is chained to the one before."""
        owner = self.workspace.id
        listed = page_of_history(
            self.workspace,
            scopes=self.selection().scopes,
            wanted=wanted_slice(request, params=self.params, owner=owner),
        )
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=owner,
                show=lambda row: dict(HistoryEntrySerializer(row).data),
            )
        )

"""Approvals: what an agent asks a person for before it does it."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from agents.api.base import RUN, ConversationView
from agents.api.serializers import (
    ApprovalDetailSerializer,
    ApprovalPageSerializer,
    ListedApprovalSerializer,
)
from agents.models.runs import Approval
from agents.services.approvals import calls_of, decide_approval, get_approval
from agents.services.decisions import APPROVED, DENIED, REASON_CHARACTERS
from agents.services.pages import calls_of_approvals, page_of_approvals
from holamem.http.fields import (
    StrictChoiceField,
    StrictListField,
    StrictSerializer,
    StrictUUIDField,
    TextField,
    choices,
)
from holamem.http.openapi import operation
from workspaces.api.base import UserQuery
from workspaces.api.pagination import PageQuery, page_answer, wanted_slice

CALLS = 100  # more than any model asks for in one reply


class ApprovalQuery(PageQuery, UserQuery):
    status = StrictChoiceField(
        choices=choices(Approval.Status.values), required=False, help_text="Those in this state."
    )


class OneDecisionSerializer(StrictSerializer):
    tool_call_id = StrictUUIDField()
    status = StrictChoiceField(choices=choices([APPROVED, DENIED]))
    reason = TextField(
        required=False,
        blank_allowed=True,
        max_length=REASON_CHARACTERS,
        help_text="The model reads the reason of a denial.",
    )


class DecisionsSerializer(StrictSerializer):
    decisions = StrictListField(
        child=OneDecisionSerializer(),
        max_length=CALLS,
        help_text="One for each call of the approval, all at once.",
    )
    scope = StrictChoiceField(
        choices=choices(Approval.Scope.values),
        required=False,
        help_text=(
            "How far an approval reaches: `once`, the default, or to the same tool with identical"
            " arguments in this `run` or `session`."
        ),
    )


class ApprovalsView(ConversationView):
    queries = {"GET": ApprovalQuery}

    @operation("approvals_list", summary="List approvals", answers={200: ApprovalPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """Newest first: of sessions of nobody, of the end user `user_id`, or with `*` of all.

        Each with the calls that wait for it; long arguments are cut here, and whole in the approval.
        """
        owner = self.workspace.id
        listed = page_of_approvals(
            self.workspace,
            scopes=self.listed_scopes(),
            wanted=wanted_slice(request, params=self.params, owner=owner),
            status=self.params.get("status"),
        )
        calls = {
            "tool_calls": calls_of_approvals(
                self.workspace, scopes=self.listed_scopes(), approvals=listed.rows
            )
        }
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=owner,
                show=lambda row: dict(ListedApprovalSerializer(row, context=calls).data),
            )
        )


class ApprovalApiView(ConversationView):
    approval: Approval

    def find_owner(self, **kwargs: Any) -> None:
        super().find_owner(**kwargs)
        self.approval = get_approval(
            self.workspace, scopes=self.own_scopes, approval_id=kwargs["approval_id"]
        )

    def detail(self, approval: Approval) -> dict[str, Any]:
        calls = calls_of(self.workspace, scopes=self.own_scopes, approval=approval)
        return dict(ApprovalDetailSerializer(approval, context={"tool_calls": calls}).data)


class ApprovalView(ApprovalApiView):
    @operation(
        "approvals_get", summary="Look at one approval", answers={200: ApprovalDetailSerializer}
    )
    def get(self, request: Request, ws: str, approval_id: UUID) -> Response:
        """With the calls that wait for it, and their arguments."""
        return Response(self.detail(self.approval))


class ApprovalDecideView(ApprovalApiView):
    permissions = {"POST": RUN}
    bodies = {"POST": DecisionsSerializer}

    @operation(
        "approvals_decide",
        summary="Decide on an approval",
        answers={200: ApprovalDetailSerializer},
        problems=(404, 409, 410, 413, 415),
    )
    def post(self, request: Request, ws: str, approval_id: UUID) -> Response:
        """All of its calls at once; then the run goes on, also after denials.

        The first decision stands: the same again is answered like the first, another one is a
        conflict. Whoever started the run can't decide on it, unless with `admin`.
        """
        body = self.read_body(request)
        decided = decide_approval(
            self.workspace,
            scopes=self.own_scopes,
            approval_id=approval_id,
            decisions=[
                {**given, "tool_call_id": str(given["tool_call_id"])} for given in body["decisions"]
            ],
            scope=body.get("scope", Approval.Scope.ONCE),
            principal=self.principal,
        )
        return Response(self.detail(decided))

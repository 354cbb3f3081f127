"""Members of a tenant and invitations by link, managed with a key of the whole tenant."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.http.fields import StrictChoiceField, StrictSerializer, choices
from holamem.http.openapi import operation
from workspaces.api.base import ApiView
from workspaces.api.pagination import PageQuery, page_answer, page_of, wanted_slice
from workspaces.api.permissions import ADMIN
from workspaces.models.tenancy import Membership
from workspaces.services import invitations
from workspaces.services.listing import HasId, slice_rows
from workspaces.services.members import (
    Manager,
    change_role,
    get_member,
    list_members,
    remove_member,
)

ROLES = choices(Membership.Role.values)


class RoleSerializer(StrictSerializer):
    role = StrictChoiceField(choices=ROLES, help_text="At most `admin`: a key makes no owners.")


class RoleChangeSerializer(StrictSerializer):
    role = StrictChoiceField(
        choices=ROLES, required=False, help_text="At most `admin`; as it is if not given."
    )


class MemberSerializer(serializers.Serializer[Any]):
    member_id = serializers.UUIDField(source="id")
    name = serializers.CharField()
    role = StrictChoiceField(choices=ROLES)
    may_become = serializers.ListField(
        child=serializers.CharField(), help_text="The roles that this key may give."
    )
    may_be_removed = serializers.BooleanField(source="may_leave", help_text="By this key.")


class InvitationSerializer(serializers.Serializer[Any]):
    invitation_id = serializers.UUIDField(source="id")
    role = StrictChoiceField(choices=ROLES)
    invited_by = serializers.CharField()
    expires_at = serializers.DateTimeField()


class MadeInvitationSerializer(InvitationSerializer):
    link = serializers.CharField(
        allow_null=True, help_text="Shown this once; null when the answer is given again."
    )


MemberPageSerializer = page_of(MemberSerializer, name="MemberPage")
InvitationPageSerializer = page_of(InvitationSerializer, name="InvitationPage")


class MembersApiView(ApiView):
    permissions = dict.fromkeys(("GET", "POST", "PATCH", "DELETE"), ADMIN)

    @property
    def manager(self) -> Manager:
        return Manager(self.principal)

    def page(self, request: Request, rows: Sequence[HasId], shape: type[Any]) -> Response:
        owner = self.principal.tenant_id
        wanted = wanted_slice(request, params=self.params, owner=owner)
        return Response(
            page_answer(
                request,
                listed=slice_rows(rows, wanted=wanted),
                owner=owner,
                show=lambda row: dict(shape(row).data),
            )
        )


class MembersView(MembersApiView):
    queries = {"GET": PageQuery}

    @operation(
        "members_list", summary="List members", answers={200: MemberPageSerializer}, problems=()
    )
    def get(self, request: Request) -> Response:
        """Who may sign in to this tenant, owners first. Needs a key of the whole tenant."""
        return self.page(request, list_members(self.manager), MemberSerializer)


class MemberView(MembersApiView):
    bodies = {"PATCH": RoleChangeSerializer}

    @operation("members_get", summary="Look at one member", answers={200: MemberSerializer})
    def get(self, request: Request, member_id: UUID) -> Response:
        """The role, and what this key may do about it."""
        return Response(MemberSerializer(get_member(self.manager, member_id=member_id)).data)

    @operation(
        "members_change",
        summary="Give a member another role",
        answers={200: MemberSerializer},
        problems=(404, 409, 413, 415),
    )
    def patch(self, request: Request, member_id: UUID) -> Response:
        """It counts from that person's next request on. A key changes no owner."""
        get_member(self.manager, member_id=member_id)
        role = self.read_body(request).get("role")
        if role is not None:
            change_role(self.manager, member_id=member_id, role=role)
        return Response(MemberSerializer(get_member(self.manager, member_id=member_id)).data)

    @operation("members_remove", summary="Remove a member", answers={204: None})
    def delete(self, request: Request, member_id: UUID) -> Response:
        """The person's account stays, without this tenant. A key removes no owner."""
        remove_member(self.manager, member_id=member_id)
        return Response(status=204)


class InvitationsView(MembersApiView):
    shown_once = ("link",)
    queries = {"GET": PageQuery}
    bodies = {"POST": RoleSerializer}

    @operation(
        "invitations_list",
        summary="List open invitations",
        answers={200: InvitationPageSerializer},
        problems=(),
    )
    def get(self, request: Request) -> Response:
        """Newest first, without their links."""
        return self.page(request, invitations.list_invitations(self.manager), InvitationSerializer)

    @operation(
        "invitations_create",
        summary="Invite one person by link",
        answers={201: MadeInvitationSerializer},
        problems=(409, 413, 415),
    )
    def post(self, request: Request) -> Response:
        """Whoever opens the link first becomes a member. It is good for a week."""
        body = self.read_body(request)
        made = invitations.invite(self.manager, role=body["role"])
        line = invitations.get_invitation(self.manager, invitation_id=made.id)
        link = request.build_absolute_uri(f"/invitation/{made.token}/")
        return Response({**InvitationSerializer(line).data, "link": link}, status=201)


class InvitationView(MembersApiView):
    @operation(
        "invitations_get", summary="Look at one invitation", answers={200: InvitationSerializer}
    )
    def get(self, request: Request, invitation_id: UUID) -> Response:
        """While it is open: a used, revoked or expired one is not there any more."""
        found = invitations.get_invitation(self.manager, invitation_id=invitation_id)
        return Response(InvitationSerializer(found).data)

    @operation("invitations_revoke", summary="Revoke an invitation", answers={204: None})
    def delete(self, request: Request, invitation_id: UUID) -> Response:
        """Its link is worth nothing from now on."""
        invitations.revoke_invitation(self.manager, invitation_id=invitation_id)
        return Response(status=204)

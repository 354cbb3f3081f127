"""Invitations by link: made by who manages members, used once, for a week at most."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from holamem.clock import now
from holamem.database.scope import system_scope
from holamem.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from workspaces.models.tenancy import Invitation, Membership, Tenant
from workspaces.services.audit import record_of_tenant
from workspaces.services.members import Manager, grantable_roles
from workspaces.services.principals import principal_for_user, secret_digest

LIFE = timedelta(days=7)
TOKEN_BYTES = 32
MAX_OPEN = 100


@dataclass(frozen=True, slots=True)
class InvitationLine:
    id: UUID
    role: str
    invited_by: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Issued:
    """`token` is known only here; the database has its hash."""

    id: UUID
    token: str


@dataclass(frozen=True, slots=True)
class Offer:
    """What the person with the link sees."""

    tenant: str
    tenant_slug: str
    role: str
    expires_at: datetime


def list_invitations(manager: Manager) -> list[InvitationLine]:
    """Open ones, newest first."""
    grantable_roles(manager)
    with system_scope():
        rows = _open().filter(tenant_id=manager.principal.tenant_id).order_by("-id")
        return [InvitationLine(r.id, r.role, r.invited_by, r.expires_at) for r in rows]


def get_invitation(manager: Manager, *, invitation_id: UUID) -> InvitationLine:
    """Raises NotFound for one that is not open any more."""
    found = [line for line in list_invitations(manager) if line.id == invitation_id]
    if not found:
        raise NotFound("There is no such invitation.")
    return found[0]


def invite(manager: Manager, *, role: str) -> Issued:
    """Raises PermissionDenied for a role above the own one, Conflict for too many open ones."""
    if role not in grantable_roles(manager):
        raise PermissionDenied("Your role does not allow this.")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with system_scope():
        tenant = Tenant.objects.select_for_update().get(id=manager.principal.tenant_id)
        if _open().filter(tenant=tenant).count() >= MAX_OPEN:
            raise Conflict("There are too many open invitations.", detail={"code": "too_many"})
        made = Invitation.objects.create(
            tenant=tenant,
            role=role,
            token_sha256=secret_digest(token),
            invited_by=manager.name[:200],
            expires_at=now() + LIFE,
        )
        record_of_tenant(
            manager.principal, action="member.invited", target=str(made.id), detail={"new": role}
        )
    return Issued(made.id, token)


def revoke_invitation(manager: Manager, *, invitation_id: UUID) -> None:
    """Raises NotFound for one that is not open any more."""
    grantable_roles(manager)
    with system_scope():
        rows = _open().filter(tenant_id=manager.principal.tenant_id, id=invitation_id)
        if not rows.update(revoked_at=now()):
            raise NotFound("There is no such invitation.")
        record_of_tenant(
            manager.principal, action="invitation.revoked", target=str(invitation_id), detail={}
        )


def find_offer(token: str) -> Offer:
    """Raises NotFound: unknown, used, revoked and expired links are alike."""
    with system_scope():
        found = _by_token(token)
        return Offer(found.tenant.name, found.tenant.slug, found.role, found.expires_at)


def accept(token: str, *, user: AbstractBaseUser) -> Offer:
    """Once. Raises NotFound, and Conflict for who is a member already."""
    with system_scope():
        found = _by_token(token, locked=True)
        member, made = Membership.objects.get_or_create(
            tenant=found.tenant, user_id=user.pk, defaults={"role": found.role}
        )
        if not made:
            raise Conflict("You are a member already.", detail={"code": "already_member"})
        found.accepted_at = now()
        found.accepted_by = user.get_username()[:200]
        found.save(update_fields=["accepted_at", "accepted_by"])
        record_of_tenant(
            principal_for_user(user, tenant=found.tenant),
            action="member.joined",
            target=str(member.id),
            detail={"name": user.get_username(), "new": found.role},
        )
        return Offer(found.tenant.name, found.tenant.slug, found.role, found.expires_at)


def accept_as_new(token: str, *, name: str, password: str) -> User:
    """An account and its membership, both or neither. Raises NotFound, InvalidInput, Conflict."""
    find_offer(token)
    try:
        validate_password(password)
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), field="password") from error
    try:
        with transaction.atomic():
            user = User.objects.create_user(name, password=password)
            accept(token, user=user)
    except IntegrityError as error:
        raise Conflict("This user name is taken.", field="name") from error
    return user


def _open() -> QuerySet[Invitation]:
    return Invitation.objects.filter(accepted_at=None, revoked_at=None, expires_at__gt=now())


def _by_token(token: str, *, locked: bool = False) -> Invitation:
    rows = _open().select_related("tenant").filter(tenant__suspended_at=None)
    if locked:
        rows = rows.select_for_update(of=("self",))
    found = rows.filter(token_sha256=secret_digest(token)).first()
    if found is None:
        raise NotFound("There is no such invitation.")
    return found

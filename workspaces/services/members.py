"""Who belongs to a tenant, and in which role. A change counts from the next request on.

Whoever manages members is owner or admin, or a key of the whole tenant that is an admin's. Nobody
raises a role above the own one, nobody below owner touches an owner, and the last owner stays. All
of it under the tenant's lock, so that two owners cannot remove each other.
"""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser

from holamem.database.scope import system_scope
from holamem.errors import Conflict, NotFound, PermissionDenied
from workspaces.models.tenancy import ApiKey, Membership, Tenant
from workspaces.services.audit import record_of_tenant
from workspaces.services.principals import Principal, principal_for_user, tenants_of

Role = Membership.Role
RANK = {Role.VIEWER: 0, Role.MEMBER: 1, Role.ADMIN: 2, Role.OWNER: 3}


@dataclass(frozen=True, slots=True)
class MemberLine:
    """`may_become`: the roles that who looks may give; empty where nothing may be changed."""

    id: UUID
    name: str
    role: str
    is_self: bool
    may_become: list[str]
    may_leave: bool


@dataclass(frozen=True, slots=True)
class Manager:
    """Who acts on members: a person, or a key, which has no user and stands as an admin does."""

    principal: Principal
    user: AbstractBaseUser | None = None

    @property
    def name(self) -> str:
        return self.user.get_username() if self.user is not None else self.principal.label


@dataclass(frozen=True, slots=True)
class _Standing:
    """The role of who manages at this moment; `member_id` is None for a key."""

    role: str
    member_id: UUID | None


def list_members(manager: Manager) -> list[MemberLine]:
    """By role, then by name. Raises PermissionDenied for who may not manage members."""
    with system_scope():
        own = _own(manager)
        rows = Membership.objects.filter(tenant_id=manager.principal.tenant_id)
        members = list(rows.select_related("user"))
    owners = sum(member.role == Role.OWNER for member in members)
    lines = [_line(member, own=own, owners=owners) for member in members]
    return sorted(lines, key=lambda line: (-RANK[Role(line.role)], line.name))


def get_member(manager: Manager, *, member_id: UUID) -> MemberLine:
    """Raises NotFound, and PermissionDenied as `list_members` does."""
    found = [line for line in list_members(manager) if line.id == member_id]
    if not found:
        raise NotFound("There is no such member.")
    return found[0]


def grantable_roles(manager: Manager) -> list[str]:
    """What who invites may offer, the least first."""
    with system_scope():
        return _up_to(_own(manager).role)


def change_role(manager: Manager, *, member_id: UUID, role: str) -> None:
    """Raises NotFound, PermissionDenied, or Conflict for the last owner."""
    with system_scope():
        own, member = _locked(manager, member_id=member_id)
        _require(role in _up_to(own.role) and _may_touch(member, own=own))
        _require(member.id != own.member_id or RANK[Role(role)] <= RANK[Role(own.role)])
        if member.role == Role.OWNER and role != Role.OWNER:
            _keep_an_owner(member)
        if member.role == role:
            return
        old, member.role = member.role, role
        member.save(update_fields=["role"])
        _record(manager, "member.role_changed", member=member, old=old, new=role)


def remove_member(manager: Manager, *, member_id: UUID) -> None:
    """The person's account stays, without this tenant. Raises as `change_role` does."""
    with system_scope():
        own, member = _locked(manager, member_id=member_id)
        _require(_may_touch(member, own=own))
        if member.role == Role.OWNER:
            _keep_an_owner(member)
        _record(manager, "member.removed", member=member, old=member.role)
        member.delete()


def record_sign_in(user: AbstractBaseUser) -> None:
    """In the log of each tenant that this opens."""
    for tenant in tenants_of(user):
        with system_scope():
            record_of_tenant(
                principal_for_user(user, tenant=tenant),
                action="member.signed_in",
                target=str(user.pk),
                detail={"name": user.get_username()},
            )


def _line(member: Membership, *, own: _Standing, owners: int) -> MemberLine:
    is_last = member.role == Role.OWNER and owners == 1
    may = _may_touch(member, own=own) and not is_last
    return MemberLine(
        id=member.id,
        name=member.user.get_username(),
        role=member.role,
        is_self=member.id == own.member_id,
        may_become=[role for role in _up_to(own.role) if role != member.role] if may else [],
        may_leave=may,
    )


def _own(manager: Manager) -> _Standing:
    """Of this moment: the role that the request began with may be gone."""
    _require(manager.principal.allows(ApiKey.Permission.ADMIN))
    if manager.user is None:
        return _of_key(manager.principal)
    own = Membership.objects.filter(
        tenant_id=manager.principal.tenant_id, user_id=manager.user.pk
    ).first()
    if own is None or RANK[Role(own.role)] < RANK[Role.ADMIN]:
        raise PermissionDenied("Only owners and admins manage members.")
    return _Standing(own.role, own.id)


def _of_key(principal: Principal) -> _Standing:
    """Never an owner: a key may be copied, and whoever has it could then shut the owners out."""
    if principal.key_id is None or principal.workspace_id is not None:
        raise PermissionDenied("Only a key of the whole tenant manages members.")
    return _Standing(Role.ADMIN, None)


def _locked(manager: Manager, *, member_id: UUID) -> tuple[_Standing, Membership]:
    Tenant.objects.select_for_update().get(id=manager.principal.tenant_id)
    own = _own(manager)
    rows = Membership.objects.select_related("user")
    member = rows.filter(tenant_id=manager.principal.tenant_id, id=member_id).first()
    if member is None:
        raise NotFound("There is no such member.")
    return own, member


def _up_to(role: str) -> list[str]:
    return [known for known in RANK if RANK[known] <= RANK[Role(role)]]


def _may_touch(member: Membership, *, own: _Standing) -> bool:
    return RANK[Role(member.role)] <= RANK[Role(own.role)]


def _keep_an_owner(member: Membership) -> None:
    others = Membership.objects.filter(tenant_id=member.tenant_id, role=Role.OWNER)
    if not others.exclude(id=member.id).exists():
        raise Conflict("The last owner stays.", detail={"code": "last_owner"})


def _require(allowed: bool) -> None:
    if not allowed:
        raise PermissionDenied("Your role does not allow this.")


def _record(manager: Manager, action: str, *, member: Membership, **detail: str) -> None:
    name = member.user.get_username()
    record_of_tenant(
        manager.principal, action=action, target=str(member.id), detail={"name": name, **detail}
    )

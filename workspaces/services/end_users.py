"""The people that a tenant's agents talk to, named by the caller's own ids."""

from uuid import UUID

from django.db import IntegrityError, transaction

from holamem.database.scope import workspace_scope
from holamem.ids import new_id
from holamem.text.slugs import slugify
from workspaces.models.tenancy import EndUser, Workspace


def ensure_end_user(workspace: Workspace, *, ref: str) -> UUID:
    """The id of this end user, made on the first write that names it; inside the caller's step."""
    existing = workspace.end_users.filter(ref=ref).values_list("id", flat=True).first()
    if existing is not None:
        return existing
    user_id = new_id()
    try:
        with transaction.atomic():
            workspace.end_users.create(
                id=user_id, ref=ref, slug=_slug(workspace, ref=ref, id=user_id)
            )
    except IntegrityError:  # another request made it, or the slug, in the meantime
        made = workspace.end_users.filter(ref=ref).values_list("id", flat=True).first()
        return made if made is not None else _with_unique_slug(workspace, ref=ref, id=user_id)
    return user_id


def _slug(workspace: Workspace, *, ref: str, id: UUID) -> str:
    slug = slugify(ref)
    taken = workspace.end_users.filter(slug=slug).exists()
    return f"{slug}-{id.hex[-8:]}" if taken else slug


def _with_unique_slug(workspace: Workspace, *, ref: str, id: UUID) -> UUID:
    slug = f"{slugify(ref)}-{id.hex[-8:]}"
    return EndUser.objects.create(workspace=workspace, id=id, ref=ref, slug=slug).id


def end_user_scope(workspace: Workspace, *, ref: str | None) -> UUID:
    """The scope of a write without making the end user: a fresh id for one that is unknown."""
    if ref is None:
        return workspace.id
    with workspace_scope(workspace):
        known = workspace.end_users.filter(ref=ref).values_list("id", flat=True).first()
    return known or new_id()

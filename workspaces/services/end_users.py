"""The people that a tenant's agents talk to, named by the caller's own ids."""

from uuid import UUID

from django.db import IntegrityError, transaction

from holamem.database.prepared import fetch_rows
from holamem.database.scope import workspace_scope
from holamem.errors import InvalidInput
from holamem.ids import new_id
from holamem.text.slugs import slugify
from workspaces.models.tenancy import EndUser, Workspace

# What follows a person's ref in an address: a ref with this end would be taken for another's.
EXPORT_END = "/export"


def check_ref(ref: str) -> None:
    """Before a write names a new person. Raises InvalidInput for what no address can hold.

    Slashes are allowed, but browsers and proxies take parts of dots for steps up.
    """
    if ref.endswith(EXPORT_END) or {".", ".."} & set(ref.split("/")):
        raise InvalidInput("This cannot be part of an address.", field="user_id")


def ensure_end_user(workspace: Workspace, *, ref: str) -> UUID:
    """The id of this end user, made on the first write that names it; inside the caller's step."""
    existing = _held(workspace, ref=ref)
    if existing is not None:
        return existing
    user_id = new_id()
    try:
        with transaction.atomic():
            workspace.end_users.create(
                id=user_id, ref=ref, slug=_slug(workspace, ref=ref, id=user_id)
            )
    except IntegrityError:  # another request made it, or the slug, in the meantime
        made = _held(workspace, ref=ref)
        return made if made is not None else _with_unique_slug(workspace, ref=ref, id=user_id)
    return user_id


# Held until the commit against an erasure of the person, which would not see what is written.
# The ORM has no key-share lock, which does not keep other writers of the same person waiting.
_HELD = """
SELECT id FROM workspaces_enduser
 WHERE workspace_id = %(workspace)s AND ref = %(ref)s AND erased_at IS NULL FOR KEY SHARE
"""


def _held(workspace: Workspace, *, ref: str) -> UUID | None:
    found = fetch_rows(_HELD, {"workspace": workspace.pk, "ref": ref})
    return found[0][0] if found else None


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
        known = workspace.end_users.filter(ref=ref, erased_at=None).values_list("id", flat=True)
        return known.first() or new_id()

"""Which permission a key needs, by view and method."""

from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from workspaces.models.tenancy import ApiKey
from workspaces.services.principals import Principal

if TYPE_CHECKING:  # its module reads the settings that name this one
    from rest_framework.views import APIView

READ = str(ApiKey.Permission.MEMORY_READ)
WRITE = str(ApiKey.Permission.MEMORY_WRITE)
ADMIN = str(ApiKey.Permission.ADMIN)
ANY_KEY = ""  # for a view that only tells the key about itself
SAFE_METHODS = ("GET", "HEAD")


class HasKeyPermission(BasePermission):
    """A view names exceptions in `permissions`; otherwise safe methods read and others write."""

    message = "The key lacks the permission for this."
    code = "permission_denied"

    def has_permission(self, request: Request, view: "APIView") -> bool:
        principal = request.user
        if not isinstance(principal, Principal):
            return False
        named: dict[str, str] = getattr(view, "permissions", {})
        method = str(request.method)
        default = READ if method in SAFE_METHODS else WRITE
        wanted = named.get("GET" if method == "HEAD" else method, default)
        if wanted == ADMIN and principal.end_user_id is not None:
            return False  # the narrower claim wins: one end user's key never runs a workspace
        return wanted == ANY_KEY or principal.allows(wanted)

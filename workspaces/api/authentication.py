"""Bearer keys: the only way into the API."""

from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from workspaces.models.tenancy import Workspace
from workspaces.services.principals import AuthenticationFailed, Principal, admit_key

SCHEME = "bearer"
MAX_TOKEN_CHARACTERS = 200


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer hm_<prefix>_<secret>`.

    `request.user` becomes the Principal, `request.auth` the workspace of the address, or None
    when the address names none or the key does not open it.
    """

    def authenticate(self, request: Request) -> tuple[Principal, Workspace | None] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != SCHEME or not token or len(token) > MAX_TOKEN_CHARACTERS:
            raise exceptions.AuthenticationFailed(
                "The Authorization header must be `Bearer <key>`.", code="key_invalid"
            )
        try:
            admitted = admit_key(token, workspace_slug=_slug_in_address(request))
        except AuthenticationFailed as error:
            raise _as_http(error) from error
        return admitted.principal, admitted.workspace

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="holamem"'


def _slug_in_address(request: Request) -> str | None:
    slug: str | None = request.parser_context["kwargs"].get("ws")
    return slug


def _as_http(error: AuthenticationFailed) -> exceptions.APIException:
    """A suspended tenant is known but may do nothing: 403; all other failures are 401."""
    if error.reason == "tenant_suspended":
        return exceptions.PermissionDenied(error.message, code=error.reason)
    return exceptions.AuthenticationFailed(error.message, code=error.reason)

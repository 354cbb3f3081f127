"""The database step of the admin: one transaction as `holamem_system` around each request."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from holamem.database.scope import system_scope

GetResponse = Callable[[HttpRequest], HttpResponse]


class AdminScopeMiddleware:
    """Only for signed-in staff: everyone else meets the sign-in page with the login role's rights.

    Stands after the authentication middleware; what staff may see is up to each ModelAdmin.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(reverse("admin:index")) or not request.user.is_staff:
            return self.get_response(request)
        with system_scope():
            return self.get_response(request)

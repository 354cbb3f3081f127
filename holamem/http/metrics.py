"""How long requests take, and `GET /metrics` with that and everything that was registered."""

import hmac
import time
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from prometheus_client import Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from holamem.environment import get_environment
from holamem.metrics import BUCKETS, registry

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Where no route matched: an address of somebody's choice is no label.
NO_ROUTE = "none"

_requests = Histogram(
    "holamem_request_seconds",
    "Time to answer a request.",
    ["method", "route", "status"],
    buckets=BUCKETS,
    registry=registry,
)


class MetricsMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        route = match.route if match is not None else NO_ROUTE
        method = request.method if request.method in METHODS else "other"
        spent = time.perf_counter() - started
        _requests.labels(method, route, response.status_code).observe(spent)
        return response


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """With HOLAMEM_METRICS_TOKEN for whoever has it; in production nothing without one."""
    if not _may_read(request):
        raise Http404
    return HttpResponse(
        generate_latest(registry),
        content_type=CONTENT_TYPE_LATEST,
        headers={"Cache-Control": "no-store"},
    )


def _may_read(request: HttpRequest) -> bool:
    environment = get_environment()
    token = environment.metrics_token.get_secret_value()
    if not token:
        return not environment.production
    given = request.headers.get("Authorization", "").encode()
    return hmac.compare_digest(given, f"Bearer {token}".encode())

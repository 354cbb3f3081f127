"""What holds at every address of the API before any route decides anything."""

from typing import Any

import pytest

from tests.api.client import codes
from tests.authz.routes import cases, resolver_routes
from tests.authz.test_keys import BY_ID
from tests.authz.world import Side, nobody
from workspaces.api.base import ApiView

PUBLIC = {case.route for case in cases("public")}


def test_every_route_of_the_api_stands_behind_the_same_frame() -> None:
    for address, view in resolver_routes():
        if address.startswith("api/") and address not in PUBLIC:
            assert issubclass(view.cls, ApiView), address


def test_the_404_is_decided_before_the_body_is_looked_at(theirs: Side) -> None:
    for case in BY_ID:
        path, caller = case.address(nobody(theirs.ids)), theirs.callers["owner"]
        answer = caller.send(case.method, path, raw=b"{not json", Content_Type="text/plain")
        assert answer.status_code == 404, case


@pytest.mark.parametrize("debug", [True, False])
def test_an_address_that_is_none_is_a_problem_and_never_html(
    debug: bool, theirs: Side, settings: Any
) -> None:
    settings.DEBUG = debug
    none = ["", "/", "/v1", "/v2/me", "/v1/me/", "/v1//me", "/v1/me;x", "/v1/Me"]
    for path in none:
        answer = theirs.callers["owner"].get(f"/api{path}")
        assert answer.status_code == 404, path
        assert codes(answer) == {"": "not_found"}, path


def test_a_strange_host_is_a_problem_too(theirs: Side) -> None:
    answer = theirs.callers["owner"].get("me", Host="evil.example")
    assert answer.status_code == 400
    assert codes(answer)

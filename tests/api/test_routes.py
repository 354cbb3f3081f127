"""Every route of the API against every kind of caller. A new route needs a row here."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from holamem.database.scope import ALL_SCOPES, workspace_scope
from retrieval.definitions import RetrieveRequest
from retrieval.models import Gap
from retrieval.retrieve import retrieve
from tests.api.client import Caller, Side, caller_for, codes, event_body, new_side
from tests.workspaces.memory import ATLAS_FACTS, draft, principal_of, remember
from workspaces.api.base import ApiView
from workspaces.models.trees import SummaryNode
from workspaces.services.corrections.correct import correct_leaf
from workspaces.services.erasure.request import erase_leaf

WS = "workspaces/<slug:ws>"
CONNECTED = {"provider": "a", "account": "b", "kind": "markdown_folder", "settings": {"path": "/"}}
# (method, route): (body, permission); "" is any key.
MATRIX: dict[tuple[str, str], tuple[Any, str]] = {
    ("GET", "me"): (None, ""),
    ("GET", "workspaces"): (None, "memory:read"),
    ("POST", "workspaces"): ({"slug": "made", "name": "Made"}, "admin"),
    ("GET", WS): (None, "memory:read"),
    ("PATCH", WS): ({"name": "Renamed"}, "admin"),
    ("DELETE", WS): (None, "admin"),
    ("GET", f"{WS}/events"): (None, "memory:read"),
    ("POST", f"{WS}/events"): (event_body(), "memory:write"),
    ("POST", f"{WS}/events:batch"): ({"events": [event_body()]}, "memory:write"),
    ("GET", f"{WS}/events/<uuid:event_id>"): (None, "memory:read"),
    ("GET", f"{WS}/trees"): (None, "memory:read"),
    ("GET", f"{WS}/trees/<tree_key:key>"): (None, "memory:read"),
    ("GET", f"{WS}/trees/<tree_key:key>:seal"): (None, "memory:read"),
    ("POST", f"{WS}/trees/<tree_key:key>:seal"): (None, "memory:write"),
    ("GET", f"{WS}/trees/<tree_key:key>:rebuild"): (None, "memory:read"),
    ("POST", f"{WS}/trees/<tree_key:key>:rebuild"): (None, "memory:write"),
    ("GET", f"{WS}/leaves/<uuid:leaf_id>"): (None, "memory:read"),
    ("GET", f"{WS}/leaves/<uuid:leaf_id>/history"): (None, "memory:read"),
    ("POST", f"{WS}/leaves/<uuid:leaf_id>:correct"): ({"text": "Else."}, "memory:write"),
    ("POST", f"{WS}/leaves/<uuid:leaf_id>:forget"): (None, "memory:write"),
    ("POST", f"{WS}/leaves/<uuid:leaf_id>:restore"): (None, "memory:write"),
    ("POST", f"{WS}/leaves/<uuid:leaf_id>:move"): ({"entity": "atlas"}, "memory:write"),
    ("GET", f"{WS}/audit"): (None, "memory:read"),
    ("POST", f"{WS}/audit/<uuid:audit_id>:undo"): (None, "memory:write"),
    ("POST", f"{WS}/leaves/<uuid:leaf_id>:erase"): ({"only_this": True}, "memory:write"),
    ("GET", f"{WS}/erasures/<uuid:erasure_id>"): (None, "memory:read"),
    ("GET", f"{WS}/summaries/<uuid:summary_id>"): (None, "memory:read"),
    ("GET", f"{WS}/entities"): (None, "memory:read"),
    ("GET", f"{WS}/entities/<slug:slug>"): (None, "memory:read"),
    ("PATCH", f"{WS}/entities/<slug:slug>"): ({"description": "A gateway."}, "memory:write"),
    ("POST", f"{WS}/entities/<slug:slug>:merge"): ({"into": "atlas"}, "memory:write"),
    ("GET", f"{WS}/integrations"): (None, "memory:read"),
    ("POST", f"{WS}/integrations"): (CONNECTED, "memory:write"),
    ("GET", f"{WS}/integrations/<part:provider>/<part:account>"): (None, "memory:read"),
    ("DELETE", f"{WS}/integrations/<part:provider>/<part:account>"): (None, "memory:write"),
    ("POST", f"{WS}/integrations/<part:provider>/<part:account>/sync"): (None, "memory:write"),
    ("GET", f"{WS}/jobs"): (None, "memory:read"),
    ("POST", f"{WS}/jobs/<uuid:job_id>:retry"): (None, "memory:write"),
    ("POST", f"{WS}/jobs/<uuid:job_id>:cancel"): (None, "memory:write"),
    ("POST", f"{WS}/memory/retrieve"): ({"query": "Who?"}, "memory:read"),
    ("GET", f"{WS}/memory/browse"): (None, "memory:read"),
    ("GET", f"{WS}/gaps"): (None, "memory:read"),
    ("POST", f"{WS}/gaps/<uuid:gap_id>:dismiss"): (None, "memory:write"),
    ("POST", f"{WS}/retrievals/<uuid:retrieval_id>/feedback"): (
        {"verdict": "helpful"},
        "memory:read",
    ),
    ("GET", f"{WS}/status"): (None, "memory:read"),
}
CASES = list(MATRIX)
IN_WORKSPACE = [case for case in CASES if case[1].startswith(WS)]
# Listed here so that nobody widens what needs no key by accident.
PUBLIC = {"api/v1/schema", "api/v1/docs"}


def api_routes(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns or get_resolver().url_patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from api_routes(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern) and address.startswith("api/v1/"):
            yield address, pattern.callback


def handled(view: Any) -> set[str]:
    names = ("get", "post", "put", "patch", "delete")
    return {name.upper() for name in names if hasattr(view, name)}


def test_the_matrix_covers_exactly_the_routes_there_are() -> None:
    found = {
        (method, address.removeprefix("api/v1/"))
        for address, callback in api_routes()
        if address not in PUBLIC
        for method in handled(callback.cls)
    }
    assert found == set(MATRIX)


def test_every_route_stands_behind_the_same_frame() -> None:
    for address, callback in api_routes():
        assert address in PUBLIC or issubclass(callback.cls, ApiView), address


@pytest.fixture(scope="module")
def ids(django_db_setup: None) -> tuple[Side, dict[str, str]]:
    """A tenant's side with one row of everything, by the name of its part of an address."""
    side = new_side()
    facts = [draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:10])]
    [first, *_, last] = remember(side.workspace, *facts)
    answer = retrieve(
        side.workspace, scopes=None, request=RetrieveRequest(query="Which colour has the moon?")
    )
    [chunk] = first.chunks
    assert chunk.leaf_id is not None
    corrected = correct_leaf(
        side.workspace,
        principal=principal_of(side.workspace),
        scopes=ALL_SCOPES,
        leaf_id=chunk.leaf_id,
        text="The Atlas gateway listens on port 9443.",
    )
    assert last.chunks[0].leaf_id is not None
    erasure = erase_leaf(
        side.workspace,
        principal=principal_of(side.workspace),
        scopes=ALL_SCOPES,
        leaf_id=last.chunks[0].leaf_id,
    )
    with workspace_scope(side.workspace, ALL_SCOPES):
        side.workspace.connectors.create(
            scope_id=side.workspace.id, provider="files", account="notes", kind="markdown_folder"
        )
        job = side.workspace.jobs.first()
        gap = side.workspace.gaps.first()
        summary = side.workspace.summaries.first()
        assert job is not None
        assert gap is not None
        found = {
            "ws": side.workspace.slug,
            "event_id": str(first.event_id),
            "key": str(chunk.tree_key),
            "slug": str(chunk.tree_key).removeprefix("interaction:"),
            "leaf_id": str(chunk.leaf_id),
            "summary_id": str(summary.id if summary else uuid4()),
            "job_id": str(job.id),
            "provider": "files",
            "account": "notes",
            "audit_id": str(corrected.audit_id),
            "erasure_id": str(erasure.erasure_id),
            "gap_id": str(gap.id),
            "retrieval_id": str(answer.retrieval_id),
        }
    return side, found


@pytest.fixture(scope="module")
def stranger(django_db_setup: None) -> Side:
    """Another tenant, whose workspace has the same slug."""
    return new_side()


def fill(route: str, ids: dict[str, str]) -> str:
    parts = ("slug:ws", "slug:slug", "tree_key:key", "part:provider", "part:account")
    for part in (*parts, *(f"uuid:{name}" for name in ids)):
        route = route.replace(f"<{part}>", ids[part.partition(":")[2]])
    return route


def absent(ids: dict[str, str]) -> dict[str, str]:
    strange = {name: str(uuid4()) for name in ids}
    return {**strange, "ws": ids["ws"], "key": "interaction:nobody-at-all"}


def send(caller: Caller, case: tuple[str, str], ids: dict[str, str]) -> Any:
    return caller.send(case[0], fill(case[1], ids), MATRIX[case][0])


def named(case: tuple[str, str]) -> str:
    return " ".join(case)


@pytest.mark.parametrize("case", CASES, ids=named)
@pytest.mark.parametrize("token", [None, "hm_0123456789_" + "0" * 64], ids=["none", "unknown"])
def test_without_a_valid_key_every_route_is_401(
    case: tuple[str, str], token: str | None, ids: tuple[Side, dict[str, str]]
) -> None:
    response = send(Caller(token), case, ids[1])
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert codes(response)


@pytest.mark.parametrize("case", IN_WORKSPACE, ids=named)
def test_another_tenants_workspace_is_the_same_as_none(
    case: tuple[str, str], ids: tuple[Side, dict[str, str]]
) -> None:
    """The stranger has no workspace of this slug: foreign and absent must not differ."""
    side, own = ids
    slug = f"w-{uuid4().hex}"
    there = {**own, "ws": slug}
    side.caller.post("workspaces", {"slug": slug, "name": "Named"})
    outsider = new_side("elsewhere").caller
    foreign = send(outsider, case, there)
    assert side.caller.get(f"workspaces/{slug}").status_code == 200
    side.caller.send("DELETE", f"workspaces/{slug}")
    gone = send(outsider, case, there)
    assert foreign.status_code == gone.status_code == 404
    assert foreign.content == gone.content


WITH_ID = [case for case in IN_WORKSPACE if case[1].count("<") > 1]


@pytest.mark.parametrize("case", WITH_ID, ids=named)
def test_another_tenants_row_is_the_same_as_none(
    case: tuple[str, str], ids: tuple[Side, dict[str, str]], stranger: Side
) -> None:
    """Same slug, foreign id: the answer has the words of an id that nobody has."""
    foreign = send(stranger.caller, case, ids[1])
    nobody = send(stranger.caller, case, absent(ids[1]))
    assert foreign.status_code == nobody.status_code == 404
    assert {**foreign.json(), "instance": ""} == {**nobody.json(), "instance": ""}


@pytest.mark.parametrize("case", WITH_ID, ids=named)
def test_the_404_is_decided_before_the_body_is_looked_at(
    case: tuple[str, str], stranger: Side, ids: tuple[Side, dict[str, str]]
) -> None:
    path = fill(case[1], absent(ids[1]))
    response = stranger.caller.send(case[0], path, raw=b"{not json", Content_Type="text/plain")
    assert response.status_code == 404


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_key_without_the_permission_is_403(
    case: tuple[str, str], ids: tuple[Side, dict[str, str]]
) -> None:
    wanted = MATRIX[case][1]
    if wanted == "":
        pytest.skip("any key will do")
    others = {"memory:read", "memory:write", "memory:all_users", "agents:run"} - {wanted}
    response = send(caller_for(ids[0].tenant, permissions=sorted(others)), case, ids[1])
    assert response.status_code == 403
    assert codes(response) == {"": "permission_denied"}


ROUTES = sorted({route for _, route in CASES})


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE", "PATCH", "DELETE", "BREW"])
def test_a_method_that_a_route_does_not_have_is_405(
    route: str, method: str, ids: tuple[Side, dict[str, str]]
) -> None:
    if (method, route) in MATRIX:
        pytest.skip("the route has this method")
    side, own = ids
    response = side.caller.send(method, fill(route, own))
    assert response.status_code == 405
    assert "GET" in response["Allow"] or "POST" in response["Allow"]
    assert codes(response) == {"": "method_not_allowed"}


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v2/me",
        "/api/v1/me/",
        "/api/v1//me",
        "/api/v1/me;x",
        "/api/v1/Me",
    ],
)
@pytest.mark.parametrize("debug", [True, False])
def test_an_address_that_is_none_is_a_problem_and_never_html(
    path: str, debug: bool, stranger: Side, settings: Any
) -> None:
    settings.DEBUG = debug
    response = stranger.caller.get(path)
    assert response.status_code == 404
    assert codes(response) == {"": "not_found"}


def test_a_strange_host_is_a_problem_too(stranger: Side) -> None:
    response = stranger.caller.get("me", Host="evil.example")
    assert response.status_code == 400
    assert codes(response)


def test_a_row_of_the_matrix_world_is_really_there(ids: tuple[Side, dict[str, str]]) -> None:
    """Otherwise every 404 above would prove nothing."""
    side, own = ids
    for name in ("event_id", "key", "leaf_id"):
        noun = {"event_id": "events", "key": "trees", "leaf_id": "leaves"}[name]
        assert side.caller.get(f"{side.base}/{noun}/{own[name]}").status_code == 200
    with workspace_scope(side.workspace, ALL_SCOPES):
        assert Gap.objects.filter(id=UUID(own["gap_id"])).exists()
        assert side.workspace.retrievals.filter(id=UUID(own["retrieval_id"])).exists()
        assert SummaryNode.objects.filter(id=UUID(own["summary_id"])).exists()

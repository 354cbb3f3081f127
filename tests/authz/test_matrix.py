"""The matrix names exactly the routes there are, and these tests are always run."""

import ast
from pathlib import Path

import pytest
from django.test import Client

from tests.api.client import Caller
from tests.authz.conftest import World
from tests.authz.routes import METHODS, matrix, methods_of, resolver_routes
from tests.authz.world import Side

HERE = Path(__file__).parent
KINDS = {
    "public", "any-key", "tool-key", "key-read", "key-write", "key-run", "key-admin",
    "signed-in", "page-read", "page-write", "page-admin", "staff",
}  # fmt: skip


def test_every_route_has_an_entry_and_every_entry_a_route() -> None:
    named = {case.route for case in matrix()}
    found = {address for address, _ in resolver_routes()}
    assert found - named == set(), "routes without an entry"
    assert named - found == set(), "entries without a route"
    assert {case.kind for case in matrix()} <= KINDS


def test_every_method_of_a_view_has_an_entry() -> None:
    for address, view in resolver_routes():
        methods = methods_of(view)
        if methods is not None:
            assert {case.method for case in matrix() if case.route == address} == methods, address


def test_a_method_without_an_entry_is_405(mine: Side) -> None:
    caller, person = mine.callers["owner"], mine.people["owner"]
    declared = {(case.route, case.method) for case in matrix()}
    wrong = []
    for route in sorted({case.route for case in matrix()} - {"admin/"}):
        case = next(case for case in matrix() if case.route == route)
        for method in METHODS:
            if (route, method) in declared:
                continue
            client: Caller | Client = person if case.is_page else caller
            send = client.send if isinstance(client, Caller) else client.generic
            answer = send(method, case.address(mine.ids))
            if answer.status_code != 405 or case.method not in answer["Allow"]:
                wrong.append((method, route, answer.status_code))
    assert wrong == []


def test_no_test_of_isolation_can_be_skipped(request: pytest.FixtureRequest) -> None:
    modules = sorted(HERE.glob("test_*.py"))
    written = {f"{path.stem}.{name}" for path in modules for name in names_in(path)}
    assert len(written) >= 20
    for path in modules:
        nodes = ast.walk(ast.parse(path.read_text()))
        words = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        assert not words & {"skip", "skipif", "xfail", "importorskip", "slow"}, path.name
    if all("::" not in argument for argument in request.config.args):
        collected = [item for item in request.session.items if HERE in item.path.parents]
        chosen = {item.path for item in collected}
        run = {f"{item.path.stem}.{item.name.partition('[')[0]}" for item in collected}
        assert run >= {f"{path.stem}.{name}" for path in chosen for name in names_in(path)}


def names_in(path: Path) -> list[str]:
    return [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def test_the_two_sides_are_alike_but_for_their_secrets(world: World) -> None:
    """Otherwise nothing below would prove that one is not taken for the other."""
    mine, theirs = world
    for name in ("ws", "key", "slug", "provider", "account", "workspace"):
        assert mine.ids[name] == theirs.ids[name]
    unlike = {"event_id", "leaf_id", "tree_id", "summary_id", "job_id", "gap_id", "audit_id"}
    assert all(mine.ids[name] != theirs.ids[name] for name in unlike)
    assert mine.canary != theirs.canary

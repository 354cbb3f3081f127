"""The audit log: who did what, filtered, and undone from there."""

import pytest
from django.test import Client

from tests.dashboard.memory import Filled
from tests.dashboard.pages import Memory, count_queries, one_leaf, page_of, undo_in
from tests.dashboard.people import make_person, signed_in_client
from workspaces.services.corrections.forget import forget_leaf
from workspaces.services.principals import principal_for_user


def rows_of(page: str) -> str:
    return page.split("<tbody>")[1].split("</tbody>")[0]


def test_a_change_is_told_with_its_person_and_undone(memory: Memory) -> None:
    person = make_person(memory.tenant)
    client = signed_in_client(person)
    client.post(memory.address(f"nodes/{memory.leaf_id}/forget/"))
    page = page_of(client.get(memory.address("audit/")))
    assert "forgot a leaf" in rows_of(page)
    assert person.username in rows_of(page)
    answer = client.post(undo_in(rows_of(page)), {"after": "audit"}, follow=True)
    assert answer.redirect_chain[-1][0] == memory.address("audit/")
    again = rows_of(page_of(answer))
    assert "undid: forgot a leaf" in again
    assert "/undo/" not in again


def test_the_words_of_a_forgotten_leaf_are_not_in_the_log(memory: Memory, member: Client) -> None:
    shown = page_of(member.get(memory.address(f"nodes/{memory.leaf_id}/")))
    title = shown.split("<h1")[1].split(">", 1)[1].split("</h1>")[0]
    member.post(memory.address(f"nodes/{memory.leaf_id}/forget/"))
    page = page_of(member.get(memory.address("audit/")))
    assert str(memory.leaf_id) in page
    assert title not in page


def test_the_log_is_filtered_by_action(member: Client, memory: Memory) -> None:
    member.post(memory.address(f"nodes/{memory.leaf_id}/forget/"))
    member.post(memory.address(f"nodes/{memory.leaf_id}/restore/"))
    page = page_of(member.get(memory.address("audit/"), {"action": "leaf.restored"}))
    assert "restored a leaf" in rows_of(page)
    assert "forgot a leaf" not in rows_of(page)
    odd = page_of(member.get(memory.address("audit/"), {"action": "nothing.such"}))
    assert "forgot a leaf" in rows_of(odd)


def test_an_empty_log_says_what_fills_it(member: Client, memory: Memory) -> None:
    page = page_of(member.get(memory.address("audit/")))
    assert "No entry yet" in page
    assert "curl" in page


def test_the_log_costs_the_same_with_more_rows(member: Client, memory: Memory) -> None:
    member.post(memory.address(f"nodes/{memory.leaf_id}/forget/"))
    address = memory.address("audit/")
    member.get(address)
    few = count_queries(member, address)
    other = one_leaf(memory.workspace, "The Harbor tool deploys every service.", minutes=5)
    for action in ("forget/", "restore/", "forget/"):
        member.post(memory.address(f"nodes/{other}/{action}"))
    assert count_queries(member, address) == few


@pytest.fixture
def audit_id(memory: Memory) -> object:
    principal = principal_for_user(make_person(memory.tenant), tenant=memory.tenant)
    return forget_leaf(
        memory.workspace, principal=principal, scopes="*", leaf_id=memory.leaf_id
    ).audit_id


def test_a_viewer_reads_the_log_and_undoes_nothing(memory: Memory, audit_id: object) -> None:
    viewer = signed_in_client(make_person(memory.tenant, role="viewer"))
    page = page_of(viewer.get(memory.address("audit/")))
    assert "forgot a leaf" in page
    assert "Undo this change" not in page
    assert viewer.post(memory.address(f"audit/{audit_id}/undo/")).status_code == 403


def test_an_entry_of_another_tenant_is_neither_shown_nor_undone(
    owner: Client, filled: Filled, memory: Memory, audit_id: object
) -> None:
    assert owner.get(memory.address("audit/")).status_code == 404
    assert owner.post(memory.address(f"audit/{audit_id}/undo/")).status_code == 404
    # In a workspace of their own it is not there either.
    assert owner.post(filled.address(f"audit/{audit_id}/undo/")).status_code == 404


def test_an_undo_without_its_token_is_refused(memory: Memory, audit_id: object) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_person(memory.tenant))
    assert client.post(memory.address(f"audit/{audit_id}/undo/")).status_code == 403

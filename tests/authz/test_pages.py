"""Every page of the dashboard against every kind of person."""

from django.contrib import admin
from django.test import Client

from tests.authz.asking import browse, holds, rows, told
from tests.authz.routes import cases
from tests.authz.world import ROLES, Side, nobody
from tests.dashboard.people import make_person, signed_in_client

PAGES = cases("page-")
WITH_ID = [case for case in PAGES if len(case.parts) > 2]
MAY = {
    "page-read": ROLES,
    "page-write": ("member", "admin", "owner"),
    "page-admin": ("admin", "owner"),
}


def test_public_routes_need_nobody(mine: Side) -> None:
    for case in cases("public"):
        answer = browse(Client(), case, mine.ids)
        # The token of an invitation is a secret, and the world's is none.
        expected = (404,) if case.parts == ["token"] else (200, 204, 302, 503)
        assert answer.status_code in expected, case
        assert not holds(answer, mine.canary), case


def test_who_is_not_signed_in_is_sent_to_the_door(mine: Side) -> None:
    before = rows(mine)
    for case in [*PAGES, *cases("signed-in")]:
        answer = browse(Client(), case, mine.ids)
        assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/login/"), case
    assert rows(mine) == before


def test_a_foreign_tenant_is_the_same_as_none(mine: Side, theirs: Side) -> None:
    before = rows(mine)
    strange = {**mine.ids, "tenant": "t-nobody"}
    for person in (theirs.people["owner"], signed_in_client(make_person(None))):
        for case in PAGES:
            foreign, absent = (browse(person, case, ids) for ids in (mine.ids, strange))
            assert foreign.status_code == 404, case
            assert told(foreign) == told(absent), case
            assert not holds(foreign, mine.canary), case
    assert rows(mine) == before


def test_a_foreign_id_under_ones_own_address_is_the_same_as_none(mine: Side, theirs: Side) -> None:
    before = rows(mine)
    own = {"tenant": theirs.tenant.slug}
    for case in WITH_ID:
        answers = [
            browse(theirs.people["owner"], case, {**ids, **own})
            for ids in (mine.ids, nobody(mine.ids))
        ]
        assert told(answers[0]) == told(answers[1]), case
        assert answers[0].status_code in (302, 404), (case, answers[0].status_code)
        assert not holds(answers[0], mine.canary, mine.private_canary), case
    assert rows(mine) == before


def test_nothing_of_another_tenant_is_on_ones_own_pages(mine: Side, theirs: Side) -> None:
    for case in [case for case in PAGES if case.method == "GET"]:
        answer = browse(theirs.people["owner"], case, theirs.ids)
        assert not holds(answer, mine.canary, mine.private_canary, mine.tenant.slug), case
    found = theirs.people["owner"].get(
        f"/w/{theirs.tenant.slug}/notes/ask/", {"q": "What is the phrase?", "user": "*"}
    )
    assert found.content.decode().count(mine.ids["leaf_id"]) == 0


def test_a_role_does_what_it_may_and_nothing_else(mine: Side) -> None:
    for role in ROLES:
        for case in [case for case in PAGES if role not in MAY[case.kind]]:
            answer = browse(mine.people[role], case, mine.ids)
            assert answer.status_code == 403, (role, str(case), answer.status_code)


def test_the_admin_lets_nobody_in_who_is_not_staff(mine: Side) -> None:
    patterns = [str(pattern.pattern) for pattern in admin.site.urls[0]]
    addresses = [f"/admin/{address}" for address in patterns if not set(address) & set("<(^")]
    assert len(addresses) > 5
    for address in addresses:
        for person in (Client(), mine.people["owner"]):
            answer = person.get(address)
            assert answer.status_code in (200, 302), address
            assert answer.status_code == 302 or "login" in answer.content.decode(), address

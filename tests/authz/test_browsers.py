"""What a browser may be made to do: pages of others, links, old cookies, other names of the host."""

import pytest
from django.test import Client

from tests.authz.asking import browse, rows, told
from tests.authz.routes import cases
from tests.authz.world import Side
from tests.dashboard.people import PASSWORD, make_person, signed_in_client

PAGES = [*cases("page-"), *cases("signed-in")]
HOME = "/w/{}/notes/trees/"


def home(side: Side) -> str:
    return HOME.format(side.tenant.slug)


def test_no_page_of_somebody_else_can_send_a_form(mine: Side) -> None:
    before = rows(mine)
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_person(mine.tenant, role="owner"))
    for case in [case for case in PAGES if case.method != "GET"]:
        assert browse(client, case, mine.ids).status_code == 403, case
    assert rows(mine) == before


def test_looking_at_pages_changes_nothing(mine: Side) -> None:
    before = rows(mine)
    for case in [case for case in PAGES if case.method == "GET"]:
        browse(mine.people["owner"], case, mine.ids)
    assert rows(mine) == before


def test_who_is_switched_off_or_has_a_new_password_is_out_at_once(mine: Side) -> None:
    for change in ("is_active", "password"):
        person = make_person(mine.tenant, role="viewer")
        client = signed_in_client(person)
        assert client.get(home(mine)).status_code == 200
        if change == "is_active":
            person.is_active = False
        else:
            person.set_password(f"{PASSWORD}-2")
        person.save()
        answer = client.get(home(mine))
        assert (answer.status_code, answer["Location"][:7]) == (302, "/login/"), change


def test_signing_in_changes_the_session_and_signing_out_ends_it(mine: Side) -> None:
    person, client = make_person(mine.tenant), Client()
    client.get("/login/")
    planted = client.cookies["csrftoken"].value
    client.post("/login/", {"username": person.username, "password": PASSWORD})
    cookie = client.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert client.cookies["csrftoken"].value != planted
    stolen = Client()
    stolen.cookies["sessionid"] = cookie.value
    assert stolen.get(home(mine)).status_code == 200
    assert client.post("/logout/").status_code == 302
    assert stolen.get(home(mine)).status_code == 302


@pytest.mark.parametrize(
    "address",
    ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"],
)
def test_signing_in_leads_to_no_other_server(mine: Side, address: str) -> None:
    person = make_person(mine.tenant)
    form = {"username": person.username, "password": PASSWORD, "next": address}
    answer = Client().post("/login/", form)
    assert (answer.status_code, answer["Location"]) == (302, "/")


@pytest.mark.parametrize("host", ["evil.example", "testserver.evil.example", "a b", ""])
def test_another_name_of_the_host_is_refused(mine: Side, host: str) -> None:
    for path in ("/login/", home(mine), "/api/v1/me"):
        answer = mine.people["owner"].get(path, headers={"Host": host})
        assert answer.status_code == 400, (host, path)


def test_a_cookie_opens_no_door_of_the_api_and_a_key_none_of_the_pages(mine: Side) -> None:
    assert mine.people["owner"].get("/api/v1/me").status_code == 401
    caller = mine.callers["owner"]
    assert caller.get(home(mine)).status_code == 302
    assert caller.get("/admin/").status_code == 302


def test_a_failed_sign_in_does_not_say_who_exists(mine: Side) -> None:
    names = (make_person(mine.tenant).username, "p-nobody")
    answers = [
        told(Client().post("/login/", {"username": name, "password": "wrong"})) for name in names
    ]
    said = [
        (status, page.replace(name.encode(), b""))
        for name, (status, page) in zip(names, answers, strict=True)
    ]
    assert said[0] == said[1]

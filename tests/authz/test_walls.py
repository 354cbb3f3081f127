"""Whoever may, gets in: otherwise the walls of the other files would prove nothing.

These tests change the world, and so they are the last.
"""

from tests.authz.asking import ask, browse, reading
from tests.authz.routes import Case, cases
from tests.authz.test_keys import KEYED
from tests.authz.test_pages import MAY, PAGES
from tests.authz.world import OTHER_SLUG, Side

DONE = (200, 201, 202, 204, 302)
NOT_NOW = (400, 409)  # past the door, in front of a rule
ARCHIVE = Case("DELETE", "api/v1/workspaces/<slug:ws>", "key-admin")


def test_the_least_role_that_may_sees_each_page(mine: Side) -> None:
    for case in [case for case in PAGES if case.method == "GET"]:
        answer = browse(mine.people[MAY[case.kind][0]], case, mine.ids)
        assert answer.status_code in (200, 302), (str(case), answer.status_code)


def test_the_owners_key_reads_everything(mine: Side) -> None:
    for case in reading(KEYED):
        answer = ask(mine.callers["owner"], case, mine.ids)
        assert answer.status_code == 200, (str(case), answer.content)


def test_the_least_role_that_may_passes_the_door_of_each_action(theirs: Side) -> None:
    """On the other side: what the pages delete is there for the keys."""
    for case in [case for case in PAGES if case.method != "GET"]:
        answer = browse(theirs.people[MAY[case.kind][0]], case, theirs.ids)
        assert answer.status_code in (*DONE, *NOT_NOW), (str(case), answer.status_code)


def test_the_owners_key_passes_the_door_of_each_write(mine: Side) -> None:
    for case in [case for case in KEYED if case.method != "GET" and case != ARCHIVE]:
        answer = ask(mine.callers["owner"], case, mine.ids)
        assert answer.status_code in (*DONE, *NOT_NOW), (str(case), answer.content)
    assert ARCHIVE in cases("key-admin")
    gone = ask(mine.callers["owner"], ARCHIVE, {**mine.ids, "ws": OTHER_SLUG})
    assert gone.status_code == 204

"""The story of the dashboard: sign in, ingest, see the tree seal, ask, see a gap and fill it.

The last part of it, an approval, is decided in `test_talking`.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connections
from playwright.sync_api import Browser, Page

from tests.browser.looking import check, sign_in
from tests.browser.watching import Watch
from tests.dashboard.memory import FACTS
from tests.dashboard.people import make_person
from tests.workspaces.memory import draft, drain, principal_of
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import receive_events
from workspaces.services.tenants import create_tenant, create_workspace

ASKED = "Which port does the Atlas gateway use?"
MISSING = "Who owns the budget of the Borealis project?"
FACT = "Pavel Novak owns the budget of the Borealis project."
EN = {"empty": "Nothing has been written yet", "sealed": "sealed", "add": "Add the missing fact",
      "fill": "Fill gap", "answer": "The leaf that answers it"}  # fmt: skip
ZH = {"empty": "还没有写入任何内容", "sealed": "已封存", "add": "补上缺少的事实", "fill": "填补缺口",
      "answer": "回答它的叶子"}  # fmt: skip


@pytest.fixture(scope="module")
def places(django_db_setup: None) -> tuple[dict[str, Workspace], str]:
    """An empty workspace for each language, and who may see them, before the browser starts."""
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="Kestrel")
    made = {
        language: create_workspace(tenant, slug=language, name="Team memory")
        for language in ("en", "zh-hans")
    }
    return made, make_person(tenant).username


@pytest.mark.parametrize(
    ("language", "said"), [("en", EN), pytest.param("zh-hans", ZH, marks=pytest.mark.slow)]
)
def test_a_person_sees_memory_grow_and_fills_what_is_missing(
    places: tuple[dict[str, Workspace], str],
    chromium: Browser,
    watch: Watch,
    language: str,
    said: dict[str, str],
) -> None:
    workspace, username = places[0][language], places[1]
    context = sign_in(chromium, watch, username=username, look=(language, "light"))
    page = context.new_page()
    watch.attach(page)
    home = f"{watch.site}/w/{workspace.tenant.slug}/{workspace.slug}/"
    page.goto(home)
    assert said["empty"] in page.inner_text("#content")
    _in_thread(lambda: _ingest(workspace))

    page.goto(f"{home}trees/")
    page.click("td a:has-text('Atlas')")
    assert said["sealed"] in page.inner_text(".outline")
    check(page, f"story-tree-{language}-light-1280")

    _ask(page, home, ASKED)
    assert "8443" in page.inner_text("#content")
    assert page.locator("mark:has-text('port')").count()

    _ask(page, home, MISSING)
    page.click(f"a:has-text('{said['add']}') >> nth=0")
    page.fill("#text", FACT)
    page.click(f"button:has-text('{said['fill']}')")
    assert page.evaluate("document.activeElement.classList.contains('notice')")
    _in_thread(lambda: drain(workspace))
    page.wait_for_selector(f"h2:has-text('{said['answer']}')")
    assert FACT in page.inner_text("#gap")
    check(page, f"story-gap-{language}-light-1280")
    context.close()
    assert watch.faults == []


def _ask(page: Page, home: str, question: str) -> None:
    page.goto(f"{home}ask/")
    page.fill("#q", question)
    page.click("form.card button.primary")
    page.wait_for_selector("#coverage")


def _ingest(workspace: Workspace) -> None:
    drafts = [draft(text, minutes=number) for number, text in enumerate(FACTS)]
    receive_events(workspace, drafts=drafts, principal=principal_of(workspace))
    drain(workspace)


def _in_thread(work: Callable[[], object]) -> None:
    """The browser's event loop keeps this one from queries."""

    def run() -> None:
        work()
        connections.close_all()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(run).result()

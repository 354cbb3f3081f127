"""Every page in Chromium: both languages, both colour schemes, a phone and a desk."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.browser.looking import WIDTHS, looks, sign_in, walk
from tests.browser.watching import Watch
from tests.dashboard.memory import Filled
from tests.dashboard.people import PASSWORD

QUESTION = "ask/?q=Which+port+does+the+Atlas+gateway+use%3F"

# A new browser has nothing in its cache: all of it came over the wire.
BYTES_ON_THE_WIRE = """() => ["navigation", "resource"].flatMap(
    (kind) => performance.getEntriesByType(kind)
).reduce((sum, entry) => sum + entry.transferSize, 0)"""
LAYOUT_SHIFT = """() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) sum += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 300);
})"""


def _paths(filled: Filled) -> dict[str, str]:
    return {
        "overview": filled.address(),
        "trees": filled.address("trees/"),
        "tree": filled.address(f"trees/{filled.tree_id}/"),
        "leaf": filled.address(f"nodes/{filled.leaf_id}/"),
        "summary": filled.address(f"nodes/{filled.summary_id}/"),
        "hostile": filled.address(f"nodes/{filled.hostile_id}/"),
        "ask": filled.address(QUESTION),
        "activity": filled.address("activity/"),
        "gaps": filled.address("gaps/"),
        "gap": filled.address(f"gaps/{filled.gap_id}/"),
        "events": filled.address("events/"),
        "jobs": filled.address("jobs/"),
        "erase": filled.address(f"nodes/{filled.leaf_id}/erase/"),
        "receipt": filled.address(f"erasures/{filled.erasure_id}/"),
        "entities": filled.address("entities/"),
        "entity": filled.address(f"entities/{filled.entity_id}/"),
        "merge": filled.address(f"entities/{filled.entity_id}/merge/?into={filled.other_slug}"),
        "audit": filled.address("audit/"),
        "integrations": filled.address("integrations/"),
        "members": filled.address("settings/members/"),
        "keys": filled.address("settings/keys/"),
        "connect": filled.address("connect/"),
        "missing": filled.address("nowhere/"),
    }


@pytest.fixture(params=looks())
def look(
    request: pytest.FixtureRequest, chromium: Browser, username: str, watch: Watch
) -> Iterator[tuple[BrowserContext, str]]:
    context = sign_in(chromium, watch, username=username, look=request.param)
    yield context, "-".join(request.param)
    context.close()


@pytest.mark.slow
def test_every_page_is_sound(
    look: tuple[BrowserContext, str], filled: Filled, watch: Watch
) -> None:
    context, name = look
    for width in WIDTHS:
        walk(context, watch, paths=_paths(filled), name=name, width=width)
    expected = {
        "console: Failed to load resource: the server responded with a status of 404 (Not Found)"
    }
    assert set(watch.faults) <= expected


@pytest.mark.slow
def test_the_dashboard_works_without_script_and_by_keyboard(
    chromium: Browser, site: str, username: str, filled: Filled
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + filled.address("ask/"))
    page.fill("#id_username", username)
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask/")
    page.fill("#q", "Which port does the Atlas gateway use?")
    page.click("form.card button.primary")
    assert "8443" in page.inner_text("#content")
    page.keyboard.press("Tab")
    page.click("nav.side a:has-text('Trees')")
    page.click("td a:has-text('Atlas')")
    page.locator("svg.drawing a").first.click()
    assert "/nodes/" in page.url
    context.close()


@pytest.mark.slow
def test_a_person_retries_parked_work_and_dismisses_a_gap(
    chromium: Browser, site: str, username: str, filled: Filled
) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(site + filled.address("jobs/?state=parked"))
    page.fill("#id_username", username)
    page.fill("#id_password", PASSWORD)
    page.click("form button.primary")
    page.click("button:has-text('Retry job')")
    assert "waits for a worker" in page.inner_text(".live")
    page.goto(site + filled.address("gaps/"))
    page.click("button:has-text('Dismiss gap') >> nth=0")
    assert "is dismissed" in page.inner_text(".live")
    context.close()


@pytest.mark.slow
def test_the_first_page_is_light_and_nothing_on_it_moves(
    chromium: Browser, watch: Watch, username: str, filled: Filled
) -> None:
    context = sign_in(chromium, watch, username=username, look=("en", "light"))
    page = context.new_page()
    page.goto(watch.site + filled.address())
    page.wait_for_load_state("networkidle")
    assert page.evaluate(BYTES_ON_THE_WIRE) < 100_000
    assert page.evaluate(LAYOUT_SHIFT) < 0.01
    context.close()

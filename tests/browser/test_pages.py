"""Every page in Chromium: both languages, both colour schemes, a phone and a desk."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.watching import Watch, check_accessibility
from tests.dashboard.memory import Filled
from tests.dashboard.people import PASSWORD

LANGUAGES = ["en", "zh-hans"]
SCHEMES = ["light", "dark"]
WIDTHS = [380, 1280]
QUESTION = "ask/?q=Which+port+does+the+Atlas+gateway+use%3F"
ARTEFACTS = os.environ.get("SCREENSHOTS_DIR", "")


def _paths(filled: Filled) -> dict[str, str]:
    return {
        "overview": filled.address(),
        "trees": filled.address("trees/"),
        "tree": filled.address(f"trees/{filled.tree_id}/"),
        "leaf": filled.address(f"nodes/{filled.leaf_id}/"),
        "summary": filled.address(f"nodes/{filled.summary_id}/"),
        "hostile": filled.address(f"nodes/{filled.hostile_id}/"),
        "ask": filled.address(QUESTION),
        "gaps": filled.address("gaps/"),
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
        "missing": filled.address("nowhere/"),
    }


def _looks() -> list[object]:
    """All four; two of them show each language and each colour scheme once."""
    both = [("en", "light"), ("zh-hans", "dark")]
    every = [(language, scheme) for language in LANGUAGES for scheme in SCHEMES]
    return [
        pytest.param(look, id="-".join(look), marks=[] if look in both else [pytest.mark.slow])
        for look in every
    ]


@pytest.fixture(params=_looks())
def look(
    request: pytest.FixtureRequest, chromium: Browser, site: str, username: str, watch: Watch
) -> Iterator[tuple[BrowserContext, str]]:
    """A signed-in person with one language and one colour scheme."""
    language, scheme = request.param
    context = chromium.new_context(color_scheme=scheme, locale="en-US")
    page = context.new_page()
    watch.attach(page)
    page.goto(f"{site}/login/")
    if language == "zh-hans":
        page.click("button[name=language]")
        assert page.inner_text("h1") == "登录"
    page.fill("#id_username", username)
    page.fill("#id_password", PASSWORD)
    page.click("form button.primary")
    page.wait_for_selector("nav.side")  # Chromium never ends closing a page that is on its way
    page.close()
    yield context, f"{language}-{scheme}"
    context.close()


def test_every_page_is_sound(
    look: tuple[BrowserContext, str], site: str, filled: Filled, watch: Watch
) -> None:
    context, name = look
    for width in WIDTHS:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        watch.attach(page)
        for title, path in _paths(filled).items():
            page.goto(site + path)
            _check(page, f"{title}-{name}-{width}")
        page.close()
    expected = {
        "console: Failed to load resource: the server responded with a status of 404 (Not Found)"
    }
    assert set(watch.faults) <= expected


def _check(page: Page, where: str) -> None:
    assert page.locator("h1").count() == 1, where
    wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert not wide, f"{where} scrolls sideways"
    if ARTEFACTS:
        page.screenshot(path=Path(ARTEFACTS) / f"{where}.png", full_page=True)
    # The colours of a phone are those of a desk, and its structure is the same in both languages.
    if where.endswith(("-1280", "-en-light-380")):
        check_accessibility(page, where)


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

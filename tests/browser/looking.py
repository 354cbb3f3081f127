"""Pages as people see them: in a language, a colour scheme and a width, kept as pictures."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.watching import Watch, check_accessibility
from tests.dashboard.people import PASSWORD

LANGUAGES = ["en", "zh-hans"]
SCHEMES = ["light", "dark"]
WIDTHS = [380, 1600]
ARTEFACTS = os.environ.get("SCREENSHOTS_DIR", "")


def looks() -> list[object]:
    """All four."""
    every = [(language, scheme) for language in LANGUAGES for scheme in SCHEMES]
    return [pytest.param(look, id="-".join(look)) for look in every]


def sign_in(
    browser: Browser, watch: Watch, *, username: str, look: tuple[str, str]
) -> BrowserContext:
    """A signed-in person with one language and one colour scheme."""
    language, scheme = look
    context = browser.new_context(color_scheme=scheme, locale="en-US")
    page = context.new_page()
    watch.attach(page)
    page.goto(f"{watch.site}/login/")
    if language == "zh-hans":
        page.click("button[name=language]")
        assert page.inner_text("h1") == "登录"
    page.fill("#id_username", username)
    page.fill("#id_password", PASSWORD)
    page.click("form button.primary")
    page.wait_for_selector("nav.side")  # Chromium never ends closing a page that is on its way
    page.close()
    return context


def walk(
    context: BrowserContext, watch: Watch, *, paths: Mapping[str, str], name: str, width: int
) -> None:
    """Every page at one width: sound, and kept as a picture where one asks for that."""
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    watch.attach(page)
    for title, path in paths.items():
        page.goto(watch.site + path)
        check(page, f"{title}-{name}-{width}")
    page.close()


def check(page: Page, where: str) -> None:
    assert page.locator("h1").count() == 1, where
    wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    keep(page, where)
    assert not wide, f"{where} scrolls sideways"
    # The colours of a phone are those of a desk, and its structure is the same in both languages.
    if where.endswith(("-1600", "-1280", "-en-light-380")):
        check_accessibility(page, where)


def keep(page: Page, where: str) -> None:
    if ARTEFACTS:
        page.screenshot(path=Path(ARTEFACTS) / f"{where}.png", full_page=True)

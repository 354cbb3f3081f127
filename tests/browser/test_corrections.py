"""A person corrects, undoes, forgets and erases in Chromium, with scripts and without."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import connections
from playwright.sync_api import Browser, Page

from tests.browser.watching import Watch, check_accessibility
from tests.dashboard.memory import Filled
from tests.dashboard.pages import one_leaf
from tests.dashboard.people import PASSWORD
from tests.workspaces.memory import drain

SUBJECTS = ("Harbor", "Beacon", "Lantern")


@pytest.fixture(scope="module")
def leaf_ids(filled: Filled) -> dict[str, UUID]:
    """A leaf of each subject, made before the browser starts."""
    text = "The {} tool deploys every service on Monday."
    return {name: one_leaf(filled.workspace, text.format(name)) for name in SUBJECTS}


def work_off(filled: Filled) -> None:
    """The worker's part, in a thread: the browser's event loop keeps this one from queries."""

    def run() -> None:
        drain(filled.workspace)
        connections.close_all()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(run).result()


def sign_in(page: Page, address: str, username: str) -> None:
    page.goto(address)
    page.fill("#id_username", username)
    page.fill("#id_password", PASSWORD)
    page.click("form button.primary")


def erase(page: Page, filled: Filled, *, has_scripts: bool) -> None:
    page.click("a:has-text('Erase leaf')")
    page.fill("#confirm", "erase")
    page.click("button:has-text('Erase leaf')")
    assert "requested" in page.inner_text("#receipt")
    work_off(filled)
    if not has_scripts:
        page.click("a:has-text('Look again')")
    page.wait_for_selector("#receipt .chip.current")
    assert "complete" in page.inner_text("#receipt")


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "scripts"), [("Harbor", True), ("Beacon", False)])
def test_a_leaf_is_corrected_undone_forgotten_and_erased(
    leaf_ids: dict[str, UUID],
    chromium: Browser,
    site: str,
    username: str,
    filled: Filled,
    watch: Watch,
    subject: str,
    scripts: bool,
) -> None:
    context = chromium.new_context(java_script_enabled=scripts, locale="en-US")
    page = context.new_page()
    watch.attach(page)
    sign_in(page, f"{site}{filled.address(f'nodes/{leaf_ids[subject]}/')}", username)

    page.click("summary:has-text('Correct the text')")
    page.fill("#correct-text", "x" * 2001)
    page.click("button:has-text('Correct leaf')")
    assert "at most 2,000 characters" in page.inner_text("[role=alert]")
    page.goto(page.url.replace("correct/", ""))

    page.click("summary:has-text('Correct the text')")
    assert "on Monday" in page.input_value("#correct-text")
    page.fill("#correct-text", page.input_value("#correct-text").replace("Monday", "Tuesday"))
    page.click("button:has-text('Correct leaf')")
    assert "The leaf is corrected" in page.inner_text(".live")
    assert "on Tuesday" in page.inner_text(".reading")

    page.click("button:has-text('Undo this change')")
    assert "The change is undone." in page.inner_text(".live")
    assert "on Monday" in page.inner_text(".reading")

    page.click("summary:has-text('Forget')")
    page.click("button:has-text('Forget leaf')")
    assert "This leaf was forgotten" in page.inner_text("#content")
    page.click("button:has-text('Restore leaf')")
    assert "on Monday" in page.inner_text(".reading")

    erase(page, filled, has_scripts=scripts)
    if scripts:
        check_accessibility(page, "receipt")
    context.close()
    assert watch.faults == []


@pytest.mark.slow
def test_a_merge_is_looked_at_before_it_is_made(
    leaf_ids: dict[str, UUID],
    chromium: Browser,
    site: str,
    username: str,
    filled: Filled,
    watch: Watch,
) -> None:
    context = chromium.new_context(locale="en-US")
    page = context.new_page()
    watch.attach(page)
    sign_in(page, site + filled.address("entities/?q=lantern"), username)
    page.click("td a >> nth=0")
    page.fill("#into", filled.other_slug)
    page.click("button:has-text('Show what moves')")
    assert "What moves" in page.inner_text("#content")
    page.click("button:has-text('Merge entities')")
    assert "The entities are merged" in page.inner_text(".live")
    page.wait_for_selector("#merges")
    work_off(filled)
    page.wait_for_selector("#merges .chip.current")
    check_accessibility(page, "merged")
    page.click(".live button:has-text('Undo this change')")
    assert "The change is undone." in page.inner_text(".live")
    work_off(filled)
    context.close()
    assert watch.faults == []

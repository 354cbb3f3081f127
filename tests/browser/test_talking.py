"""A person talks to an agent in Chromium: streamed, approved, cancelled, continued, reloaded."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.agents.dashboard.story import SAVE, Story, tell_story, waiting
from tests.agents.talking import model_server, runner_of
from tests.browser.looking import WIDTHS, check, keep, looks, sign_in, walk
from tests.browser.watching import Watch
from tests.dashboard.people import make_person
from tests.openai_server import OpenAIServer
from tests.streamed import calls, ending, says, streams, words
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_tenant, create_workspace

SECONDS = 10_000  # ms
ANSWER = "The gateway listens on **port 8443**."
# What each language's page says.
EN = {"approve": "Approve call", "cancelled": "cancelled", "completed": "completed"}
ZH = {"approve": "批准调用", "cancelled": "已取消", "completed": "已完成"}


@dataclass(frozen=True, slots=True)
class Stage:
    """A workspace with a runner and a model that says what a test scripts; `asked` is a session
    that waits for approval, beside the one of the story.
    """

    workspace: Workspace
    story: Story
    asked: UUID
    model: OpenAIServer
    username: str

    def address(self, rest: str = "") -> str:
        return f"/w/{self.workspace.tenant.slug}/{self.workspace.slug}/{rest}"


@pytest.fixture(scope="module")
def stage(django_db_setup: None) -> Iterator[Stage]:
    """All of it before the browser starts: then this thread may not query any more."""
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="Kestrel")
    workspace = create_workspace(tenant, slug="memory", name="Team memory")
    story, asked = tell_story(workspace), waiting(workspace).session.id
    with ExitStack() as stack:
        model = stack.enter_context(model_server(stack.enter_context(pytest.MonkeyPatch.context())))
        stack.enter_context(runner_of(workspace))
        yield Stage(workspace, story, asked, model, make_person(tenant).username)


@pytest.fixture
def talker(stage: Stage, chromium: Browser, watch: Watch) -> Iterator[BrowserContext]:
    context = sign_in(chromium, watch, username=stage.username, look=("en", "light"))
    yield context
    context.close()


def test_an_approval_that_waits_is_decided_without_a_reload(
    stage: Stage, talker: BrowserContext, watch: Watch
) -> None:
    stage.model.script(says("Noted."))
    page = _opened(talker, watch, stage.address(f"sessions/{stage.asked}/"))
    page.evaluate("window.isStillHere = true")
    page.fill("input[id^=reason-]", "Not now.")
    page.click("button:has-text('Deny call')")
    expect(page.locator("#talk")).to_contain_text("Noted.", timeout=SECONDS)
    expect(page.locator("#talk")).to_contain_text("Not now.")
    assert page.evaluate("window.isStillHere") is True
    assert watch.faults == []


@pytest.mark.slow
@pytest.mark.parametrize(("language", "said"), [("en", EN), ("zh-hans", ZH)])
def test_a_sentence_is_answered_live_through_an_approval_a_cancel_and_a_reload(
    stage: Stage, chromium: Browser, watch: Watch, language: str, said: dict[str, str]
) -> None:
    context = sign_in(chromium, watch, username=stage.username, look=(language, "light"))
    gate = Event()
    stage.model.script(
        streams(*words("The gateway "), gate, *words("listens."), *ending()),
        calls(("memory_write", {**SAVE, "name": f"style {language}"}), text="I note it down."),
        says(ANSWER),
        streams(*words("This takes "), Event(), *ending()),
        says("Once more."),
    )
    page = _opened(context, watch, stage.address("sessions/"))
    page.fill("#title", f"Talk {language}")
    page.fill("#message", "Where does the gateway listen?")
    page.click("main form[method=post] button.primary")
    live = page.locator("#live-text")
    expect(live).to_have_text("The gateway ", timeout=SECONDS)
    page.evaluate("window.isStillHere = true")
    gate.set()
    talk = page.locator("#talk")
    expect(talk).to_contain_text("The gateway listens.", timeout=SECONDS)
    expect(live).to_be_hidden()

    _say(page, "Note down how we write.")
    approve = page.locator(f"button:has-text('{said['approve']}')")
    expect(approve).to_be_visible(timeout=SECONDS)
    check(page, f"approval-{language}-light-1280")
    approve.click()
    expect(talk.locator("strong:has-text('port 8443')")).to_be_visible(timeout=SECONDS)

    _say(page, "Take your time.")
    expect(live).to_have_text("This takes ", timeout=SECONDS)
    keep(page, f"writing-{language}-light-1280")
    page.click("#talk form[action$='/cancel/'] button")
    expect(page.locator("#talk .foot").last).to_contain_text(said["cancelled"], timeout=SECONDS)
    page.click("#talk form[action$='/retry/'] button >> nth=-1")
    expect(talk).to_contain_text("Once more.", timeout=SECONDS)
    expect(page.locator("#talk .foot").last).to_contain_text(said["completed"], timeout=SECONDS)
    assert page.evaluate("window.isStillHere") is True

    before = talk.inner_text()
    page.reload()
    assert _without_times(talk.inner_text()) == _without_times(before)
    page.goto(watch.site + stage.address("text-memory/"))
    assert f"style {language}" in page.inner_text("#content")
    assert watch.faults == []
    context.close()


@pytest.mark.slow
def test_a_conversation_works_without_script(stage: Stage, chromium: Browser, watch: Watch) -> None:
    context = chromium.new_context(java_script_enabled=False)
    stage.model.script(says("It listens."))
    page = context.new_page()
    page.goto(watch.site + stage.address("sessions/"))
    page.fill("#id_username", stage.username)
    page.fill("#id_password", "a-long-password-of-tests")
    page.click("form button.primary")
    page.fill("#message", "Where does it listen?")
    page.click("main form[method=post] button.primary")
    for _ in range(100):
        if "It listens." in page.inner_text("#talk"):
            break
        page.wait_for_timeout(100)
        page.reload()
    assert "It listens." in page.inner_text("#talk")
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("look", looks())
def test_every_page_of_agents_and_settings_is_sound(
    stage: Stage, chromium: Browser, watch: Watch, look: tuple[str, str]
) -> None:
    context = sign_in(chromium, watch, username=stage.username, look=look)
    for width in WIDTHS:
        walk(context, watch, paths=_paths(stage), name="-".join(look), width=width)
    context.close()
    assert watch.faults == []


def _paths(stage: Stage) -> dict[str, str]:
    story = stage.story
    return {
        "attention": stage.address("attention/"),
        "sessions": stage.address("sessions/"),
        "session": stage.address(f"sessions/{story.done}/"),
        "session-waiting": stage.address(f"sessions/{story.waiting}/"),
        "session-failed": stage.address(f"sessions/{story.failed}/"),
        "timeline": stage.address(f"sessions/{story.done}/timeline/"),
        "agents": stage.address("agents/"),
        "agent": stage.address("agents/default/"),
        "agent-new": stage.address("agents/new/"),
        "text-memory": stage.address("text-memory/"),
        "topic": stage.address(f"text-memory/{story.topic}/"),
        "distillations": stage.address("distillations/"),
        "history": stage.address("history/?check=yes"),
        "settings": stage.address("settings/workspace/"),
        "webhooks": stage.address("settings/webhooks/"),
        "usage": stage.address("settings/usage/"),
        "exports": stage.address("settings/exports/"),
    }


def _opened(context: BrowserContext, watch: Watch, path: str) -> Page:
    page = context.new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    watch.attach(page)
    page.goto(watch.site + path)
    return page


def _say(page: Page, text: str) -> None:
    page.fill("#say textarea", text)
    page.click("#say button.primary")
    expect(page.locator("#say textarea")).to_have_value("", timeout=SECONDS)


def _without_times(text: str) -> list[str]:
    """The distance from now grows."""
    return [line for line in text.splitlines() if "(" not in line]

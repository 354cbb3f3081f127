"""What must hold of every page in the browser, whatever a person does with it."""

from dataclasses import dataclass, field

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Dialog, Page


@dataclass
class Watch:
    """What must not happen while a page is open."""

    site: str
    faults: list[str] = field(default_factory=list)

    def attach(self, page: Page) -> None:
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("dialog", self._note_dialog)
        page.on("request", self._note_request)

    def _note_console(self, message: object) -> None:
        if message.type in ("error", "warning"):  # type: ignore[attr-defined]
            self.faults.append(f"console: {message.text}")  # type: ignore[attr-defined]

    def _note_dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()  # a page with an open dialog answers nothing

    def _note_request(self, request: object) -> None:
        url: str = request.url  # type: ignore[attr-defined]
        if not url.startswith((self.site, "data:", "blob:")):
            self.faults.append(f"outside: {url}")


def check_accessibility(page: Page, where: str) -> None:
    result = Axe().run(page).response
    assert result["passes"], "the checker saw nothing"
    grave = [item for item in result["violations"] if item["impact"] in ("serious", "critical")]
    found = [(item["id"], [node["html"] for node in item["nodes"][:2]]) for item in grave]
    assert found == [], f"{where}: {found}"

"""What every HTML answer carries, error pages included."""

import re
from pathlib import Path

import pytest
from django.test import Client

from tests.dashboard.memory import Filled

PAGES = [
    "", "trees/", "entities/", "ask/", "gaps/", "events/", "jobs/", "integrations/", "audit/",
    "nowhere/",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_a_page_forbids_inline_code_and_caching(owner: Client, filled: Filled, path: str) -> None:
    response = owner.get(filled.address(path))
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    if response.status_code == 200:
        assert "no-store" in response["Cache-Control"]


def test_the_sign_in_page_and_the_error_pages_carry_the_policy() -> None:
    for path in ("/login/", "/w/none/none/", "/none"):
        response = Client().get(path, follow=True)
        assert "default-src 'none'" in response["Content-Security-Policy"]


def test_no_template_holds_inline_styles_scripts_or_outside_addresses() -> None:
    templates = list(Path("templates").rglob("*.html"))
    assert len(templates) > 20
    for template in templates:
        text = template.read_text()
        assert not re.search(
            r"""\sstyle=|\son[a-z]+=|<script(?! type="module" src="{% static )|<style""", text
        ), template
        assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", text), template

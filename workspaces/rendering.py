"""Stored markdown as safe HTML.

Memory is untrusted text. Raw HTML is escaped by the parser, the result is sanitised again, and
a remote image becomes a link: loading it would tell its server what was read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

MAX_BYTES = 100 * 1024  # longer bodies are cut for display; the file keeps everything
HEADING_SHIFT = 2  # the page has h1 and h2 of its own
TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
SCHEMES = {"http", "https", "mailto"}
REL = "noopener noreferrer nofollow"


@dataclass(frozen=True, slots=True)
class Rendered:
    """`is_cut` when the text was longer than MAX_BYTES."""

    html: SafeString
    is_cut: bool


class _Renderer(RendererHTML):
    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        label = self.renderInlineAsText(token.children or [], options, env)
        source = str(token.attrGet("src") or "")
        link = Token("link_open", "a", 1, attrs={"href": source})
        text = _escape(label or urlsplit(source).hostname or source)
        return f"{self.renderToken([link], 0, options, env)}{text}</a>"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_parser = MarkdownIt(
    "commonmark", {"html": False, "linkify": False}, renderer_cls=_Renderer
).enable(["table", "strikethrough"])


def render_markdown(text: str, *, citations: Mapping[str, str] | None = None) -> Rendered:
    """Safe HTML of a body. `citations` maps a cited id to the address that its mark links to."""
    shown, is_cut = _cut(text)
    for node_id, address in (citations or {}).items():
        shown = shown.replace(f"[{node_id}]", f"[→ {node_id[-8:]}]({address})")
    tokens = _parser.parse(shown)
    for token in tokens:
        if token.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            token.tag = f"h{min(int(token.tag[1]) + HEADING_SHIFT, 6)}"
    html = _parser.renderer.render(tokens, _parser.options, {})
    clean = nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel=REL)
    return Rendered(mark_safe(clean), is_cut)  # noqa: S308 - sanitised on the line above


def _cut(text: str) -> tuple[str, bool]:
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_BYTES:
        return text, False
    return data[:MAX_BYTES].decode("utf-8", "ignore"), True

"""Colours, words and translations hold together."""

import re
from datetime import date, timedelta
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.extract import extract_python
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.utils import translation
from django.utils.translation.template import templatize

from retrieval.dashboard.highlight import mark_terms, terms_of
from workspaces.dashboard.charts import BOTTOM, TOP, draw_bars
from workspaces.dashboard.trees import word_changes
from workspaces.dashboard.words import GLYPHS, WORDS, chip_for
from workspaces.services.overview import DayCount

STATIC = Path("holamem/static/holamem")
CATALOGUE = Path("holamem/locale/zh_Hans/LC_MESSAGES/django.po")
HEX = re.compile(r"#[0-9A-Fa-f]{3,8}\b")
# token, on what, least contrast (page 9 of the design: text, chips, controls)
CONTRASTS = [
    ("text", "page", 14), ("text", "card", 14), ("muted", "page", 5.9), ("muted", "card", 5.9),
    ("accent", "page", 6), ("accent", "card", 6), ("on-accent", "accent", 6),
    *((tone, on, 5.1) for tone in ("current", "stale", "failed", "past") for on in ("page", "card")),
    *(("control", on, 3.5) for on in ("page", "card")),
    ("text", "mark", 7), ("series-2", "card", 4.5), ("series-3", "card", 4.5),
]  # fmt: skip


def _themes() -> dict[str, dict[str, str]]:
    text = (STATIC / "tokens.css").read_text()
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    pairs = re.compile(r"--([\w-]+): (#[0-9A-F]{6});")
    return {"light": dict(pairs.findall(light)), "dark": dict(pairs.findall(dark))}


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, two: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("token", "on", "least"), CONTRASTS)
def test_the_colours_contrast_enough(theme: str, token: str, on: str, least: float) -> None:
    colours = _themes()[theme]
    assert round(_contrast(colours[token], colours[on]), 1) >= least


def test_hex_values_stand_only_in_the_token_file() -> None:
    assert not HEX.search((STATIC / "holamem.css").read_text())


def _used_messages() -> set[str]:
    keywords = {"gettext": None, "gettext_lazy": None, "gettext_noop": None, "_": None,
                "ngettext": (1, 2), "pgettext": ((1, "c"), 2), "pgettext_lazy": ((1, "c"), 2),
                "npgettext": ((1, "c"), 2, 3)}  # fmt: skip
    sources = [
        *((path, text) for app in ("workspaces", "retrieval", "agents", "holamem")
          for path in Path(app).rglob("*.py") if "gettext" in (text := path.read_text())),
        *((path, templatize(path.read_text(), origin=str(path)))
          for path in Path("templates").rglob("*.html")),
    ]  # fmt: skip
    found: set[str] = set()
    for _path, text in sources:
        for _line, name, message, _comments in _extract(text, keywords):
            parts = message if isinstance(message, tuple) else (message,)
            index = 1 if name.startswith(("pgettext", "npgettext")) else 0
            if isinstance(parts[index], str) and parts[index]:
                found.add(parts[index])
    return found


def _extract(text: str, keywords: dict[str, object]) -> list[tuple[int, str, object, object]]:
    return list(extract_python(BytesIO(text.encode()), list(keywords), [], {"encoding": "utf-8"}))


def test_every_message_has_a_chinese_translation() -> None:
    catalogue = read_po(BytesIO(CATALOGUE.read_bytes()), locale="zh_Hans")
    translated = {
        message.id[0] if isinstance(message.id, tuple) else message.id
        for message in catalogue
        if message.string and all(message.string) and not message.fuzzy
    }
    used = _used_messages()
    assert len(used) > 200
    assert used - translated == set()


def test_the_compiled_catalogue_is_that_of_its_source() -> None:
    compiled = BytesIO()
    write_mo(compiled, read_po(BytesIO(CATALOGUE.read_bytes()), locale="zh_Hans"))
    assert compiled.getvalue() == CATALOGUE.with_suffix(".mo").read_bytes()


def test_the_fixed_chinese_words_are_used() -> None:
    with translation.override("zh-hans"):
        said = {code: str(word) for code, word in WORDS.items()}
    assert said["leaf"] == "叶子"
    assert said["summary"] == "摘要"
    assert "封存" in said["sealed"]


def test_every_chip_has_a_glyph_a_word_and_a_tone() -> None:
    for code in GLYPHS:
        chip = chip_for(code)
        assert chip.glyph
        assert chip.tone
        assert code in WORDS, code
    assert chip_for("something_new").word == "something new"


def test_bars_start_at_zero_and_the_last_day_is_today() -> None:
    first = date(2026, 5, 1)
    days = [DayCount(first + timedelta(days=index), index) for index in range(30)]
    chart = draw_bars(days)
    assert chart.bars[0].height == 0
    assert all(bar.y + bar.height == BOTTOM and bar.y >= TOP for bar in chart.bars)
    assert [bar.is_today for bar in chart.bars].count(True) == 1
    assert chart.bars[-1].is_today
    assert len(chart.grid) <= 4


def test_an_empty_chart_is_no_error() -> None:
    assert draw_bars([]).bars == []


@pytest.mark.parametrize(
    ("question", "text", "marked"),
    [
        (
            "Which port does Atlas use?",
            "Atlas uses Port 8443, in sport.",
            ["Atlas", "uses", "Port"],
        ),
        ("支付网关的端口是多少", "支付网关的生产端口是 9443。", ["支付网关", "端口"]),
        ("v2.14.1?", "runs v2.14.1 now", ["v2.14.1"]),
        ("a.*b(", "text (a.*b)", []),
    ],
)
def test_the_words_of_the_question_are_marked(question: str, text: str, marked: list[str]) -> None:
    pieces = mark_terms(text, terms_of(question))
    assert "".join(piece.text for piece in pieces) == text
    found = [piece.text for piece in pieces if piece.is_marked]
    assert found == marked


def test_a_diff_rebuilds_both_texts() -> None:
    before, after = "端口是 8443，在生产。", "端口是 9443，在生产环境。"
    changes = word_changes(before, after)
    assert "".join(c.text for c in changes if c.kind != "ins") == before
    assert "".join(c.text for c in changes if c.kind != "del") == after

"""The head of a file: what is used, what stays part of the text, and what does no harm."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from workspaces.connectors.front_matter import read_document


def head(lines: str, body: str = "Body.") -> str:
    return f"---\n{lines}\n---\n{body}"


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("date: 2026-05-20", "2026-05-20T00:00:00+00:00"),
        ("date: 2026-05-20 09:30:00", "2026-05-20T09:30:00+00:00"),
        ("date: 2026-05-20T09:30:00+08:00", "2026-05-20T09:30:00+08:00"),
        ("Date: '2026-05-20T09:30+08:00'", "2026-05-20T09:30:00+08:00"),
        ("日期: 2026年5月20日", "2026-05-20T00:00:00+00:00"),
    ],
)
def test_a_time_is_read_in_the_forms_that_people_write(line: str, moment: str) -> None:
    found = read_document(head(line), zone=UTC).dated
    assert found == datetime.fromisoformat(moment)


def test_a_time_without_a_zone_is_in_the_workspaces_own() -> None:
    document = read_document(head("date: 2026-05-20 09:30:00"), zone=ZoneInfo("Asia/Shanghai"))
    assert document.dated == datetime.fromisoformat("2026-05-20T09:30:00+08:00")


@pytest.mark.parametrize("value", ["2026-02-30", "soon", "[1]", "99999-01-01", "2026年13月1日", ""])
def test_a_time_that_is_none_stays_part_of_the_text(value: str) -> None:
    document = read_document(head(f"date: {value}"), zone=UTC)
    assert document.dated is None
    assert "date" in document.text
    assert document.text.endswith("Body.")


@pytest.mark.parametrize("line", ["title: Leave policy", "标题: 休假制度", "title: 2026"])
def test_a_title_heads_the_text(line: str) -> None:
    title = line.partition(": ")[2]
    document = read_document(head(line), zone=UTC)
    assert (document.title, document.text) == (title, f"# {title}\n\nBody.")


def test_a_title_that_the_text_opens_with_is_not_said_twice() -> None:
    document = read_document(head("title: Leave", "# Leave\n\n25 days."), zone=UTC)
    assert document.text == "# Leave\n\n25 days."


def test_what_else_the_head_says_is_kept() -> None:
    document = read_document(head("author: 玛拉\ntitle: Leave\nstatus: draft"), zone=UTC)
    assert document.text == "# Leave\n\nauthor: 玛拉\nstatus: draft\n\nBody."


BOMB = "a: &a [x, x, x, x]\n" + "\n".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]" for n in range(20)
)


@pytest.mark.parametrize(
    "content",
    [
        "No head.\n---\n",
        "---\nno: end",
        "---\n- a list\n---\nBody.",
        "---\njust words\n---\nBody.",
        "---\nbroken: [\n---\nBody.",
        "---\nx: !!python/object/apply:os.system [ls]\n---\nBody.",
        head(BOMB),
        head("[" * 3000),
        head("[" * 190),
        head("title: " + "x" * 5000),
    ],
)
def test_a_head_that_is_none_is_left_as_it_is(content: str) -> None:
    document = read_document(content, zone=UTC)
    assert (document.text, document.title, document.dated) == (content, "", None)


def test_windows_line_ends_and_an_empty_head_are_heads_too() -> None:
    document = read_document("---\r\ntitle: Leave\r\n---\r\n25 days.\r\n", zone=UTC)
    assert document.text == "# Leave\n\n25 days."
    assert read_document("---\n---\nBody.", zone=UTC).text == "Body."

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from retrieval.stages.time_expressions import find_times, time_range_of, without_times
from retrieval.types import Anchor

# Friday, 22 May 2026, 17:00 in Shanghai.
ANCHOR = Anchor(datetime(2026, 5, 22, 9, tzinfo=UTC), ZoneInfo("Asia/Shanghai"))


def days(text: str) -> tuple[str, str] | None:
    span = time_range_of(text, ANCHOR)
    if span is None:
        return None
    start = "…" if span.start is None else f"{span.start.astimezone(ANCHOR.zone):%Y-%m-%d}"
    end = "…" if span.end is None else f"{span.end.astimezone(ANCHOR.zone):%Y-%m-%d}"
    return start, end


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What did we decide yesterday?", "2026-05-21", "2026-05-22"),
        ("我们昨天决定了什么？", "2026-05-21", "2026-05-22"),
        ("前天的会议", "2026-05-20", "2026-05-21"),
        ("大前天的会议", "2026-05-19", "2026-05-20"),
        ("what happened last week", "2026-05-11", "2026-05-18"),
        ("上周发生了什么", "2026-05-11", "2026-05-18"),
        ("这周学到了什么", "2026-05-18", "2026-05-25"),
        ("上个月的进展", "2026-04-01", "2026-05-01"),
        ("last quarter", "2026-01-01", "2026-04-01"),
        ("去年的计划", "2025-01-01", "2026-01-01"),
        ("in May", "2026-05-01", "2026-06-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("十二月做了什么", "2025-12-01", "2026-01-01"),
        ("on 20 May 2026", "2026-05-20", "2026-05-21"),
        ("on May 20th, 2026", "2026-05-20", "2026-05-21"),
        ("2026-05-20 发生了什么变化", "2026-05-20", "2026-05-21"),
        ("2026年5月20日", "2026-05-20", "2026-05-21"),
        ("5月20号的会", "2026-05-20", "2026-05-21"),
        ("六月一日", "2026-06-01", "2026-06-02"),
        ("六月一日做了什么", "2025-06-01", "2025-06-02"),
        ("Who is on holiday in July?", "2026-07-01", "2026-08-01"),
        ("Who was on holiday in July?", "2025-07-01", "2025-08-01"),
        ("What is planned for the 1st of June?", "2026-06-01", "2026-06-02"),
        ("What is kept in January?", "2026-01-01", "2026-02-01"),
        ("七月谁休年假？", "2026-07-01", "2026-08-01"),
        ("七月谁休了年假？", "2025-07-01", "2025-08-01"),
        ("three days ago", "2026-05-19", "2026-05-20"),
        ("三天前", "2026-05-19", "2026-05-20"),
        ("二十天前", "2026-05-02", "2026-05-03"),
        ("in the last 3 days", "2026-05-19", "2026-05-23"),
        ("最近三天", "2026-05-19", "2026-05-23"),
        ("on Monday", "2026-05-18", "2026-05-19"),
        ("上周五开会", "2026-05-15", "2026-05-16"),
        ("since 3 May", "2026-05-03", "2026-05-22"),
        ("before 2025", "…", "2025-01-01"),
        ("after 10 May 2026", "2026-05-11", "…"),
        ("5月20日之后", "2026-05-21", "…"),
        ("自5月1日以来", "2026-05-01", "2026-05-22"),
        ("as of March", "…", "2026-04-01"),
        ("as of 20 May 2026", "…", "2026-05-21"),
        ("截至3月", "…", "2026-04-01"),
        ("the week before 3 May 2026", "2026-04-26", "2026-05-03"),
        ("over the weekend before 3 May 2026", "2026-05-02", "2026-05-04"),
        ("on the Monday after 3 May 2026", "2026-05-04", "2026-05-05"),
        ("two days before 3 May 2026", "2026-05-01", "2026-05-03"),
        ("5月3日前一周", "2026-04-26", "2026-05-03"),
        ("5月3日之前的那个周末", "2026-05-02", "2026-05-04"),
        ("5月3日后两天", "2026-05-04", "2026-05-06"),
        ("last Friday, as told on 3 May 2026", "2026-05-01", "2026-05-04"),
        ("before the outage on 3 May 2026", "…", "2026-05-03"),
        ("5月3日故障之前", "…", "2026-05-03"),
        ("between 1 May and 10 May 2026", "2026-05-01", "2026-05-11"),
        ("从5月1日到5月10日", "2026-05-01", "2026-05-11"),
    ],
)
def test_a_time_is_read_on_the_askers_calendar(text: str, start: str, end: str) -> None:
    assert days(text) == (start, end)


@pytest.mark.parametrize(
    "text",
    [
        "May I ask about the march to the sea?",
        "port 8443",
        "version 2.14.1",
        "99999999 days ago",
        "which release is 2026.1?",
        "支付网关用哪个端口",
    ],
)
def test_what_is_no_time_is_left_alone(text: str) -> None:
    assert find_times(text, ANCHOR) == []


def test_a_day_that_no_calendar_has_does_not_fail() -> None:
    assert days("30 February 2026") == ("2026-02-01", "2026-03-01")


def test_the_day_depends_on_the_zone() -> None:
    late = Anchor(datetime(2026, 5, 21, 23, tzinfo=UTC), ZoneInfo("Asia/Shanghai"))

    span = time_range_of("today", late)

    assert span is not None
    assert span.start == datetime(2026, 5, 21, 16, tzinfo=UTC)


def test_time_words_are_cut_out_of_the_topic() -> None:
    assert without_times("What did Atlas ship last week?", ANCHOR).split() == [
        "What",
        "did",
        "Atlas",
        "ship",
        "?",
    ]


@pytest.mark.parametrize(
    ("zone", "yesterday", "last_week"),
    [
        ("Pacific/Kiritimati", "2026-05-31", "2026-05-25"),  # UTC+14: it is 1 June, a Monday
        ("Pacific/Pago_Pago", "2026-05-29", "2026-05-18"),  # UTC-11: it is 30 May, a Saturday
    ],
)
def test_calendar_words_hold_at_the_edges_of_the_world(
    zone: str, yesterday: str, last_week: str
) -> None:
    asker = Anchor(datetime(2026, 5, 31, 10, 30, tzinfo=UTC), ZoneInfo(zone))
    expected = {
        "yesterday": yesterday,
        "昨天": yesterday,
        "last week": last_week,
        "上周": last_week,
    }
    last_month = "2026-05-01" if zone == "Pacific/Kiritimati" else "2026-04-01"
    for text, day in {**expected, "last month": last_month, "上个月": last_month}.items():
        span = time_range_of(text, asker)
        assert span is not None
        assert span.start is not None
        assert f"{span.start.astimezone(asker.zone):%Y-%m-%d %H:%M}" == f"{day} 00:00"

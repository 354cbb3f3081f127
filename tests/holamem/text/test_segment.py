import pytest
from hypothesis import given
from hypothesis import strategies as st

from holamem.text.segment import MAX_TERMS, query_terms, terms, terms_with_positions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("支付网关", ["支付", "付网", "网关"]),
        ("用API", ["用", "api"]),
        ("Deploying the gateways", ["deploy", "gateway"]),
        ("Bob's don't O’Brien", ["bob", "obrien"]),
        ("café", ["cafe"]),
        ("1,000,000 users", ["1000000", "user"]),
        ("2026年5月3日", ["2026", "2026年", "5", "5月", "3", "3日"]),
        ("the US team asked us", ["us", "team", "ask"]),
        ("API的URL", ["api", "url"]),
        ("ＡＰＩ　网\u200b关", ["api", "网关"]),
    ],
)
def test_terms_of_chinese_english_and_mixed_text(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        (
            "see monitor.internal:3000 now",
            "monitor.internal:3000",
            {"monitor.internal", "monitor", "3000"},
        ),
        ("升级到v2.3.1了", "v2.3.1", {"2.3.1"}),
        ("报错ERR_42。", "err_42", {"err", "42"}),
        ("Fix AUTH-1287!", "auth-1287", {"auth", "1287"}),
        ("mail bob.lee@x.com.", "bob.lee@x.com", {"bob", "lee", "x.com"}),
        ("打开https://a.b.cn/x?y=1。", "https://a.b.cn/x?y=1", {"a.b.cn"}),
        ("/etc/nginx/nginx.conf", "/etc/nginx/nginx.conf", {"etc", "nginx", "nginx.conf"}),
        ("uses C++ here", "c++", set()),
        ("getUserName()", "getusername", {"user", "name"}),
    ],
)
def test_identifiers_stay_whole_and_match_by_their_parts(
    text: str, whole: str, parts: set[str]
) -> None:
    found = terms(text)
    assert whole in found
    assert parts <= set(found)


def test_over_long_words_are_left_out() -> None:
    assert terms(f"{'x' * 65} gateway") == ["gateway"]


def test_the_number_of_terms_is_capped() -> None:
    assert len(terms("网关" * 5_000)) == MAX_TERMS


def test_positions_rise_and_stop_words_leave_holes() -> None:
    assert terms_with_positions("gateway of the bank") == [("gateway", 1), ("bank", 4)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who owns the gateway?", ["own", "gateway"]),
        ("How many users pay?", ["user", "pay"]),
        ("支付网关的负责人是谁？", terms("支付网关的负责人")),
        ("什么时候上线？", ["上线"]),
        ("请问支付网关在哪里", ["支付", "付网", "网关"]),
        ("gateway gateway", ["gateway"]),
    ],
)
def test_question_words_are_dropped_and_terms_distinct(question: str, expected: list[str]) -> None:
    assert query_terms(question) == expected


def test_a_question_of_question_words_alone_keeps_them() -> None:
    assert query_terms("什么") == ["什么"]


@pytest.mark.parametrize("question", ["", "!!! ???", "\u200b", "the of"])
def test_a_question_without_content_has_no_terms(question: str) -> None:
    assert query_terms(question) == []


@pytest.mark.parametrize("question", ["支付 & 网关 | !(", "it's \\ ' :* <->"])
def test_operators_never_become_terms(question: str) -> None:
    assert not set("&|!():*<>'\\") & set("".join(query_terms(question)))


@pytest.mark.slow
@given(st.text(max_size=200))
def test_every_term_can_be_stored(text: str) -> None:
    found = terms(text)
    assert all(term.strip() == term != "" and "\x00" not in term for term in found)


@given(st.text(st.sampled_from("ab1X -_./:+支付网关猫。"), max_size=60))
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    assert set(query_terms(text)) <= set(terms(text))


def test_repeated_terms_count_as_often_as_they_stand() -> None:
    assert terms("网关网关 gateway gateway") == ["网关", "关网", "网关", "gateway", "gateway"]


def test_of_a_long_question_the_repeated_and_the_latest_terms_are_kept() -> None:
    words = [f"w{n}" for n in range(200)]
    found = query_terms(" ".join(["subject", *words, "subject"]))
    assert found == ["subject", *words[-63:]]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holamem.text.normalise import find_forbidden, fingerprint, is_blank, normalise, normalise_name

SCOTLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in "gbsct") + "\U000e007f"


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("支付网关\r\n上线", "支付网关\n上线"),
        ("ＡＰＩ　２.０", "API 2.0"),
        ("pass\u200bword", "password"),
        ("  two   words ", "two words"),
        ("e\u200b\u0301", "\u00e9"),
    ],
)
def test_texts_that_look_alike_have_one_fingerprint(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(("one", "other"), [("US", "us"), ("raypal", "\u0433aypal"), ("一", "二")])
def test_different_texts_have_different_fingerprints(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_a_fingerprint_of_a_lone_surrogate_is_still_made() -> None:
    assert len(fingerprint("\ud800")) == 64


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\u200d\ufeff", "\u3000", "\u3164", "\x01"])
def test_invisible_texts_are_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", " 。", "\u200b字", "🙂"])
def test_visible_texts_are_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\x00b", "null_character"),
        ("a\ud83d", "lone_surrogate"),
        ("hi\U000e0041\U000e0042", "tag_character"),
        (SCOTLAND + "\U000e0041", "tag_character"),
    ],
)
def test_forbidden_characters_are_named(text: str, code: str) -> None:
    assert find_forbidden(text) == code


@pytest.mark.parametrize("text", ["", "plain", "支付网关 🙂", "👨‍👩‍👧", SCOTLAND])
def test_ordinary_text_is_allowed(text: str) -> None:
    assert find_forbidden(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hola-Boss", "hola  boss"),
        ("支付 网关", "支付网关"),
        ("ＯＢＲＩＥＮ", "O’Brien"),
        ("「支付网关」", "支付网关"),
    ],
)
def test_names_written_differently_are_one_name(one: str, other: str) -> None:
    assert normalise_name(one) == normalise_name(other)


@pytest.mark.parametrize(
    ("one", "other"), [("C", "C++"), ("C", "C#"), ("v1.0", "v10"), ("...", "!!!"), ("张三", "张四")]
)
def test_different_names_stay_different(one: str, other: str) -> None:
    assert normalise_name(one) != normalise_name(other)

import pytest

from holamem.text.languages import has_han, language_of


@pytest.mark.parametrize(
    "text", ["今天发布", "我用 Kubernetes 部署 monitoring", "端口是 3000", "支付网关v2"]
)
def test_chinese_and_mostly_chinese_is_zh(text: str) -> None:
    assert language_of(text) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123 !!",
        "The release is today",
        "The project 支付网关 is due on Friday, and Bob owns it",
    ],
)
def test_english_and_anything_else_is_en(text: str) -> None:
    assert language_of(text) == "en"


def test_han_is_found_anywhere_and_full_width_latin_is_not_han() -> None:
    assert has_han("abc 字")
    assert has_han("\U00020000")
    assert not has_han("ＡＢＣ：。")

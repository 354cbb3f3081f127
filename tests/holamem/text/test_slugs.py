import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holamem.text.slugs import RESERVED, slugify


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("支付网关", "zhi-fu-wang-guan"),
        ("重庆 Team #1", "chong-qing-team-1"),
        ("Café Zoë", "cafe-zoe"),
        ("Ann O'Brien", "ann-obrien"),
        ("ＡＰＩ２", "api2"),
        ("--leading", "leading"),
        ("../../etc/passwd", "etc-passwd"),
        ("con", "e-con"),
        ("COM1", "e-com1"),
    ],
)
def test_names_become_readable_slugs(name: str, slug: str) -> None:
    assert slugify(name) == slug


@pytest.mark.parametrize("name", ["", "..", "Пётр", "🙂", "\u200b"])
def test_names_without_letters_of_ours_get_a_stable_digest(name: str) -> None:
    assert re.fullmatch("e-[0-9a-f]{8}", slugify(name))
    assert slugify(name) == slugify(name)


@given(st.text(max_size=120), st.integers(min_value=12, max_value=60))
def test_every_slug_is_safe(name: str, max_length: int) -> None:
    slug = slugify(name, max_length=max_length)
    assert re.fullmatch("[a-z0-9][a-z0-9-]*", slug)
    assert len(slug) <= max_length
    assert slug not in RESERVED


def test_a_long_chinese_name_is_cut_between_syllables() -> None:
    assert slugify("支付网关" * 30, max_length=20) == "zhi-fu-wang-guan-zhi"

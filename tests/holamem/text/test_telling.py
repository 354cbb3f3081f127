from holamem.text.telling import telling


def test_a_pair_with_function_characters_says_less() -> None:
    assert telling("手机") == 1.0
    assert telling("手机") > telling("的手") > telling("我的") > 0


def test_what_is_no_pair_of_characters_says_all_of_it() -> None:
    assert [telling(term) for term in ("port", "在", "35岁", "is", "")] == [1.0] * 5

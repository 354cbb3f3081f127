import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holamem.text.secrets import mask_json, mask_secrets

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\nabc+/=\n-----END RSA PRIVATE KEY-----"
FORMATS = [
    (PEM, "private_key"),
    ("AKIAIOSFODNN7EXAMPLE", "aws_key"),
    ("ghp_" + "a1B2" * 9, "github_token"),
    ("github_pat_" + "a1B2" * 9, "github_token"),
    ("glpat-" + "a1B2" * 5, "gitlab_token"),
    ("xoxb-1234567890-abcdef", "slack_token"),
    ("sk-" + "a1B2" * 8, "openai_key"),
    ("sk-proj-" + "a1_-" * 8, "openai_key"),
    ("sk-ant-api03-" + "a1B2" * 8, "anthropic_key"),
    ("AIza" + "a1B2c" * 7, "google_key"),
    ("sk_live_" + "a1B2" * 6, "stripe_key"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN", "jwt"),
    ("hm_ab12cd34_" + "Abcd1234" * 4, "holamem_key"),
    ("4111 1111 1111 1111", "card_number"),
    ("6222020000000000000", "card_number"),
]
FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


@pytest.mark.parametrize(("secret", "kind"), FORMATS)
def test_known_formats_are_masked_also_between_chinese_characters(secret: str, kind: str) -> None:
    masked = mask_secrets(f"请用{secret}登录")
    assert masked.text == f"请用[masked:{kind}]登录"
    assert masked.kinds == [kind]


@pytest.mark.parametrize(("secret", "kind"), FORMATS)
def test_known_formats_are_masked_in_full_width(secret: str, kind: str) -> None:
    masked = mask_secrets(f"（{secret.translate(FULL_WIDTH)}）")
    assert masked.text == f"（[masked:{kind}]）"


def test_zero_width_characters_hide_nothing() -> None:
    assert mask_secrets("x sk-\u200ba1B2a1B2\u2060a1B2a1B2 y").text == "x [masked:openai_key] y"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password is hunter2", "password is [masked:password]"),
        ("My password is swordfish.", "My password is [masked:password]."),
        ("Password: hunter2, thanks", "Password: [masked:password], thanks"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[masked:password]"),
        ("密码是hunter2，请记住", "密码是[masked:password]，请记住"),
        ("密码：ｈｕｎｔｅｒ２。", "密码：[masked:password]。"),
        ("密码是“芝麻开门”", "密码是“[masked:password]”"),
        ("口令为 open-sesame-9", "口令为 [masked:password]"),
        ("账号admin密码abc123456", "账号admin密码[masked:password]"),
        ("the password for staging is Tr0ub4dor", "the password for staging is [masked:password]"),
        ("?token=abc123def&x=1", "?token=[masked:secret]&x=1"),
        ('api_key = "abcd1234efgh"', 'api_key = "[masked:secret]"'),
        ('{"password": "hunter2", "a": 1}', '{"password": "[masked:password]", "a": 1}'),
        ("Bearer abc123def456ghi", "Bearer [masked:bearer_token]"),
        ("postgres://bob:hunter2@db:5432/x", "postgres://bob:[masked:url_credentials]@db:5432/x"),
    ],
)
def test_named_secrets_are_masked_and_the_rest_stays(text: str, expected: str) -> None:
    assert mask_secrets(text).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "the password policy is strict",
        "the password is wrong",
        "reset my password",
        "reset the password to continue.",
        "password: must be 12 characters",
        "密码策略是每90天更换",
        "密码是什么？",
        "密码：必须包含大写字母",
        "密码8到16位",
        "max_tokens=500, token: 4096",
        "the secret to success is patience",
        'password = os.environ["DB_PASSWORD"]',
        "order 1234567890123456, phone 13800138000",
        "sk-learn-compatible-estimators",
        "http://localhost:8000/a@b",
        "2026-05-03 12:30:45 1714731045123",
        "支付网关 v2.3.1 🙂",
    ],
)
def test_talk_about_secrets_stays(text: str) -> None:
    assert mask_secrets(text).text == text


PIECES = [
    "password",
    " is ",
    ":",
    "密码",
    "是",
    "hunter2",
    " ",
    "sk-a1B2a1B2a1B2a1B2",
    "token=",
    "。",
]


@pytest.mark.slow
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=20))
def test_masking_twice_changes_nothing(pieces: list[str]) -> None:
    once = mask_secrets("".join(pieces)).text
    assert mask_secrets(once).text == once


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "1 ",
        "４",
        "password ",
        "password for ",
        "sk-",
        "eyJa.",
        "://a:",
        "密码是支付",
        PEM[:31],
    ],
)
def test_the_work_grows_with_the_length_of_hostile_text_and_not_faster(unit: str) -> None:
    """Eight times the text: a scan in linear time takes 8 times as long, a quadratic one 64."""
    assert seconds_to_mask(unit, characters=240_000) < 24 * seconds_to_mask(unit, characters=30_000)


def seconds_to_mask(unit: str, *, characters: int) -> float:
    """The fastest of three, in processor time, and never so little that noise decides."""
    text = (unit * (characters // len(unit) + 1))[:characters]
    spent = []
    for _ in range(3):
        start = time.process_time()
        mask_secrets(text)
        spent.append(time.process_time() - start)
    return max(min(spent), 0.005)


def test_json_is_masked_in_strings_keys_and_under_telling_keys() -> None:
    value = {"db_password": "q", "pin": [1, None, True], "note": ["密码是abc123"], "密码": 123456}
    masked, kinds = mask_json(value)
    assert masked == {
        "db_password": "[masked:secret]",
        "pin": [1, None, True],
        "note": ["密码是[masked:password]"],
        "密码": "[masked:secret]",
    }
    assert kinds == ["secret", "password"]


def test_json_without_secrets_comes_back_equal() -> None:
    value = {"tokens": 500, "a": ["b", 1.5, None, {"c": False}]}
    assert mask_json(value) == (value, [])

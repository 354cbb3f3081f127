"""Keys of the common services, in whatever text they stand, and what only looks like them.

Every key here is made of a repeated pattern: none is or was real.
"""

import pytest

from holamem.text.secrets import IDENTIFIER_DIGITS, mask_identifier, mask_json, mask_secrets

FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def hexadecimal(length: int) -> str:
    return ("0f1e2d3c4b5a6978" * 8)[:length]


def key(length: int) -> str:
    return ("a1B2c3D4e5F6g7H8" * 16)[:length]


def capitals(length: int) -> str:
    return ("A1B2C3D4E5F6G7H8" * 16)[:length]


KEYS = [
    "sk-proj-" + key(48),
    "sk-or-v1-" + hexadecimal(64),
    "sk-" + hexadecimal(32),
    "sk-ant-api03-" + key(80),
    "gsk_" + key(52),
    "xai-" + key(80),
    "pplx-" + key(48),
    "r8_" + key(37),
    "hf_" + key(34),
    "tvly-" + key(32),
    hexadecimal(32) + "." + key(16),
    "AIza" + key(35),
    "AKIA" + capitals(16),
    "LTAI5t" + key(18),
    "AKID" + key(32),
    "AKLT" + key(40),
    "bce-v3/ALTAK-" + key(21) + "/" + hexadecimal(40),
    "dop_v1_" + hexadecimal(64),
    "HRKU-" + key(36),
    "sbp_" + hexadecimal(40),
    "pscale_tkn_" + key(43),
    "dapi" + hexadecimal(32),
    "hvs." + key(90),
    "tskey-auth-" + key(12) + "-" + key(32),
    "dckr_pat_" + key(27),
    "ghp_" + key(36),
    "github_pat_" + key(82),
    "glpat-" + key(20),
    "ATATT3xFfGF0" + key(100),
    "npm_" + key(36),
    "pypi-" + key(90),
    "glsa_" + key(32) + "_" + hexadecimal(8),
    "NRAK-" + capitals(27),
    "PMAK-" + hexadecimal(24) + "-" + hexadecimal(34),
    "AGE-SECRET-KEY-1" + capitals(58),
    "xoxb-123456789012-" + key(24),
    "lin_api_" + key(40),
    "ntn_" + key(46),
    "figd_" + key(40),
    "pat" + key(14) + "." + hexadecimal(64),
    "shpat_" + hexadecimal(32),
    "sq0atp-" + key(22),
    "sk_live_" + key(24),
    "whsec_" + key(32),
    "SK" + hexadecimal(32),
    "SG." + key(22) + "." + key(43),
    "key-" + hexadecimal(32),
    hexadecimal(32) + "-us14",
    "123456789:AA" + key(33),
    "MTE4" + key(20) + "." + key(6) + "." + key(38),
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + key(43),
]


@pytest.mark.parametrize("secret", KEYS)
@pytest.mark.parametrize("frame", ["{}", "key: {}, keep it", "我的是{}，请记住", "（{}）"])
def test_a_key_is_masked_whole_wherever_it_stands(secret: str, frame: str) -> None:
    masked = mask_secrets(frame.format(secret))
    assert masked.kinds
    assert secret[-8:] not in masked.text
    assert secret[:12] not in masked.text
    assert masked.text.endswith(frame.format("").split("{}")[-1][-1:])


@pytest.mark.parametrize("secret", KEYS)
def test_a_key_in_full_width_is_masked(secret: str) -> None:
    wide = secret.translate(FULL_WIDTH)
    assert wide[-8:] not in mask_secrets(f"密钥{wide}结束").text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgresql://app:S3cret!pw@db.internal:5432/app", "S3cret"),
        ("amqp://guest:gu@est99@mq:5672/", "est99"),
        ("redis://:p4ssw0rd@cache:6379/0", "p4ssw0rd"),
        ("jdbc:mysql://db/app?user=root&password=S3cret99", "S3cret99"),
        ("Server=db;User Id=sa;Password=S3cret99!;", "S3cret99"),
        ("host=db user=app password=S3cret99 dbname=app", "S3cret99"),
        ("AccountName=acme;AccountKey=" + key(86) + "==;Suffix=net", key(20)),
        ("https://acme.example/c?sv=2022-11-02&sig=" + key(40) + "%3D", key(20)),
        ("mysql -u root -pS3cretpw99", "S3cretpw99"),
        ("curl -u bob:hunter22 https://example.com", "hunter22"),
        ("sshpass -p hunter22 ssh root@host", "hunter22"),
        ("Cookie: session=" + key(40), key(20)),
        ("https://discord.com/api/webhooks/123456789012345678/" + key(68), key(20)),
        (
            "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=" + hexadecimal(36),
            hexadecimal(20),
        ),
        ("here is my key: " + key(40), key(20)),
        ("export ACME_KEY=" + key(40), key(20)),
        ("AccessKeySecret: " + key(30), key(20)),
        ("my PIN is 4821", "4821"),
        ("OTP: 837261", "837261"),
        ("your verification code is 837261", "837261"),
        ("the db password has been changed to Tiger#77", "Tiger#77"),
        ("seed phrase: " + " ".join(["apple", "river", "stone"] * 4), "river"),
        ("初始密码统一为Abc@1234", "Abc@1234"),
        ("密码我设成了 abcd1234", "abcd1234"),
        ("登录口令改成了 Welc0me!23", "Welc0me"),
        ("短信验证码837261，别告诉别人", "837261"),
        ("助记词是 " + " ".join(["apple", "river", "stone"] * 4), "river"),
        ("PIN码是4821", "4821"),
    ],
)
def test_what_a_text_calls_a_secret_is_masked(text: str, secret: str) -> None:
    masked = mask_secrets(text).text
    assert secret not in masked
    assert mask_secrets(masked).text == masked


PRIVATE_KEYS = [
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    + f"{key(70)}\n" * 5
    + "-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + key(64) + "\n-----END PGP PRIVATE KEY BLOCK-----",
    "-----BEGIN PRIVATE KEY-----\\n" + key(64) + "\\n-----END PRIVATE KEY-----",
    "-----BEGIN EC PRIVATE KEY-----\n" + key(64) + "\n" + key(64),
    "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n" + key(64) + "\nPrivate-MAC: 1",
]


@pytest.mark.parametrize("block", PRIVATE_KEYS)
def test_every_line_of_a_private_key_goes(block: str) -> None:
    assert key(16) not in mask_secrets(f"这是私钥：{block}\n谢谢").text


ORDINARY = """commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it
key: 89e6c98d92887913cadf06b2adb97f26cde4849b
image registry/app@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
md5 d41d8cd98f00b204e9800998ecf8427e.tar
session id: 0198c5b2-7c11-7e0a-9f7e-1f2a3b4c5d6e
the partition key is created_at
Her pin is on the map; GPIO pin: 17; pin code is 518000
My phone number is +49 170 1234567 and it costs $1,234,567.89.
Invoice INV-2026-000123456789 totals 4,111.00 EUR
the token bucket refills at 100 tokens per second, max_tokens: 128000
The monkey: George; secret santa is on Friday; cookie: chocolate chip
the password must contain 8 characters and is stored as a bcrypt hash
The password is in the vault; the password manager is 1Password.
docker run --user 1000:1000 image; curl -u $USER:$PASS https://example.com
ssh://git@host:22/repo, git@github.com:org/repo.git, see http://host:80/path or ask ann@example.com
s3://bucket/key=2026/part-0001.parquet, arn:aws:iam::123456789012:role/App
ISBN 978-3-16-148410-0, IBAN DE89 3704 0044 0532 0130 00, order 1234567890123456
re_render_component_after_loading, secret_garden_is_a_book_for_children, npm_config_registry
key: ThisIsAVeryLongIdentifierName, access token lifetime is 3600 seconds
价格是12345678元，订单号是202605201234567890，手机号是13800138000
身份证号110101199003078515，验证码5分钟内有效
密码策略要求每90天更换一次，密码长度至少8位，密码输错5次会锁定
密码需要包含数字和字母，密码改成了更复杂的，密码和用户名一样
令牌桶的容量是1000，密钥每季度轮换一次，密钥长度是2048位，密钥由KMS管理
他的密码学成绩是95分，密码学课程是周三，口令红包是10元""".splitlines()


@pytest.mark.parametrize("text", ORDINARY)
def test_hashes_numbers_prices_and_talk_stay(text: str) -> None:
    assert mask_secrets(text).text == text


def test_a_value_under_a_telling_key_goes_whole_even_where_its_form_is_known() -> None:
    masked, kinds = mask_json({"private_key": "-----BEGIN PRIVATE KEY-----\nabcd", "n": 1})
    assert masked == {"private_key": "[masked:private_key]", "n": 1}
    assert kinds == ["private_key"]


def test_an_id_without_a_secret_stays_as_it_is() -> None:
    assert mask_identifier("thread-42", salt="w", limit=200).text == "thread-42"


def test_ids_with_secrets_are_masked_and_still_told_apart() -> None:
    first, second = (f"mail?token={key(20)}{n}" for n in (1, 2))
    masked = mask_identifier(first, salt="w", limit=200).text
    assert masked == mask_identifier(first, salt="w", limit=200).text
    assert masked != mask_identifier(second, salt="w", limit=200).text
    assert masked != mask_identifier(first, salt="another", limit=200).text
    assert key(12) not in masked
    assert mask_identifier(masked, salt="w", limit=200).text == masked


def test_a_masked_id_keeps_to_the_limit_and_its_digest() -> None:
    masked = mask_identifier("pwd=abc99 " * 19, salt="w", limit=200).text
    assert len(masked) <= 200
    assert masked[-IDENTIFIER_DIGITS - 1] == "~"

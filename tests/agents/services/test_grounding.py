"""What can be read off a result, and what only has its words."""

import pytest

from agents.services.grounding import is_about, is_said

GRAFANA = "Grafana listens on monitor.internal:3000 and keeps its dashboards for 90 days."
GATEWAY = "支付网关在生产环境使用 9000 端口，日志保存三十天。"
BOTH = "Zorvex listens on port 4410 and Quillon listens on port 4520."
APART = "Zorvex listens on port 4410. Quillon listens on port 4520."
HAN = "格瑞网关在生产环境使用 5110 端口。赫拉网关在生产环境使用 5220 端口。"
TABLE = "NAME READY STATUS\npayments 2/2 Running\norders 0/1 Crash"
PAIRS = "name: grafana\nport: 3000\n\nname: prometheus\nport: 9090"
OBJECTS = (
    '{"region":"north","services":[{"name":"ivory","port":5310,"owner":"ops"},'
    '{"name":"jasper","port":5420,"deprecated":false}]}'
)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (GRAFANA, GRAFANA),
        ("Grafana listens on monitor.internal:3000.", GRAFANA),
        ("Grafana keeps its dashboards for 90 days.", GRAFANA),
        ("支付网关在生产环境使用 9000 端口。", GATEWAY),
        ("支付网关日志保存三十天。", GATEWAY),
        ("Quillon listens on port 4520.", BOTH),
        ("Zorvex listens on port 4410. Quillon listens on port 4520.", APART),
        (
            "Grafana keeps dashboards for 90 days.",
            "Grafana is up. It keeps dashboards for 90 days.",
        ),
        ("payments 2/2 Running", TABLE),
        ("Prometheus: port 9090.", PAIRS),
        ("支付网关的端口是 9000。", "支付网关：\n端口：9000\n负责人：平台组"),
        ("Ivory has port 5310.", OBJECTS),
        ("Ivory: owner is ops, port is 5310.", OBJECTS),
        ("Jasper: deprecated is false.", OBJECTS),
        ("Payments is not deployed.", "Payments is not deployed."),
    ],
)
def test_what_a_result_says_in_one_place_may_be_distilled(statement: str, text: str) -> None:
    assert is_said(statement, text=text)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("Grafana does not listen on monitor.internal:3000.", GRAFANA),
        ("Grafana listens on monitor.internal:3000 and is insecure.", GRAFANA),
        ("Grafana is deprecated.", GRAFANA),
        ("Grafana listens on 90.", GRAFANA),
        ("Zorvex listens on port 4520.", BOTH),
        ("Zorvex listens on port 4520.", APART),
        ("支付网关在生产环境不使用 9000 端口。", GATEWAY),
        ("支付网关已经被废弃，使用 9000 端口。", GATEWAY),
        ("格瑞网关在生产环境使用 5220 端口。", HAN),
        ("payments 0/1 Crash", TABLE),
        ("Grafana: port 9090.", PAIRS),
        ("Ivory has port 5420.", OBJECTS),
        ("Jasper is deprecated.", OBJECTS),
        ("Payments is down.", "If the flag is on, payments is down."),
        ("Payments moves to port 31031.", "Payments will move to port 31031."),
        ("The payments port is 31031.", "The plan: the payments port is 31031 next week."),
        ("支付网关下周迁移。", "支付网关计划下周迁移。"),
        ("Traffic moved from beta to alpha.", "Traffic moved from alpha to beta."),
        ("The limit is over 50.", "The limit is under 50."),
        ("Payments listens on port 3000.", "Payments does not listen on port 3000."),
        ("", GRAFANA),
        ("Grafana listens.", ""),
    ],
)
def test_what_only_has_the_words_of_a_result_is_not_distilled(statement: str, text: str) -> None:
    assert not is_said(statement, text=text)


def test_what_was_asked_about_is_a_subject_to_distill_and_nothing_else() -> None:
    text = '{"status":"healthy","version":"11.2"}'
    assert is_said("Grafana: version is 11.2.", text=text, asked=["grafana"])
    assert not is_said("Grafana: version is 11.2.", text=text)
    assert not is_said("Payments is insecure.", text="payments: healthy", asked=["insecure"])
    assert not is_said("Payments listens on port 9999.", text=text, asked=["payments", "9999"])


def test_a_text_memory_line_has_the_words_of_one_text_of_its_topic() -> None:
    texts = [GRAFANA, "Grafana runs on the rack that was bought in spring."]
    assert is_about("Where Grafana listens", texts=texts, name="grafana")
    assert is_about("Grafana listens on monitor.internal:3000", texts=texts, name="grafana")
    for lie in ("Grafana is compromised", "Grafana does not listen", "Grafana 90", "Grafana 4000"):
        assert not is_about(lie, texts=texts, name="grafana")

"""What a tool repeats of its arguments is the model's own word, and not distilled."""

import pytest

from agents.services.echoes import without_echo

PLAN = "The payments service will listen on port 9999 from Monday."
PLAN_ZH = "支付网关从下周一起使用 9999 端口，由平台组负责。"


@pytest.mark.parametrize("plan", [PLAN, PLAN_ZH])
@pytest.mark.parametrize(
    "result",
    [
        "{plan}",
        "Saved: {plan}",
        '{{"ok": true, "note": "{plan}"}}',
        "Noted.\n> {plan}\nBye.",
        "Saved: '{lower}' in the notes.",
        "Saved: {underscored}.",
        "{backwards}",
    ],
)
def test_a_plan_that_a_tool_repeats_is_nothing_to_distill(plan: str, result: str) -> None:
    words = plan.split()
    text = result.format(
        plan=plan,
        lower=plan[1:].lower().strip(".。"),
        underscored=plan.replace(" ", "_"),
        backwards=" ".join(words[::-1]),
    )
    assert "9999" in text
    for arguments in ({"text": plan}, {"deep": [{"text": f"First this.\n{plan}"}]}):
        assert "9999" not in without_echo(text, arguments)


def test_what_was_asked_about_may_be_answered_and_distilled() -> None:
    answer = "monitor.internal:3000 is healthy. Grafana 11 runs there."
    asked = {"address": "monitor.internal:3000", "service": "Grafana 11"}
    assert without_echo(answer, asked) == answer

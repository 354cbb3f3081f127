"""Sentences with a part of their own reach Chinese pages in Chinese."""

import pytest
from django.utils import translation

from holamem.errors import ProviderError
from holamem.providers.attempts import timed_out, unusable_reply
from workspaces.dashboard.spoken import spoken
from workspaces.services.circuits import CircuitOpen
from workspaces.services.quotas import QuotaReached, QuotaUse


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (timed_out(), "模型服务未在时限内应答。"),
        (unusable_reply("unreadable"), "模型服务的回复无法使用：无法读取。"),
        (CircuitOpen(provider="llm.example.com", retry_after_seconds=1), "llm.example.com"),
        (ProviderError("The model service answered with status 503."), "503"),
    ],
)
def test_an_error_of_a_model_service_is_said_in_the_language_of_the_page(
    error: ProviderError, said: str
) -> None:
    with translation.override("zh-hans"):
        for stored in (error.message, f"{error.code}: {error.message}"):
            assert said in spoken(stored)
            assert "model service" not in spoken(stored)
    with translation.override("en"):
        assert "model service" in spoken(error.message)


def test_a_quota_is_named_and_what_a_person_wrote_stays() -> None:
    quota = QuotaUse("leaves", used=5, limit=5)
    reached = QuotaReached(quota, retry_after_seconds=1).message
    with translation.override("zh-hans"):
        assert spoken(reached) == "叶子：已达到租户上限 5。"
        assert spoken("note: Ask Pavel.") == "note: Ask Pavel."
        assert spoken("") == ""

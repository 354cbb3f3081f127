"""Usage, quotas and circuits over the API."""

import pytest

from holamem.errors import ProviderError
from holamem.providers.base import Usage
from tests.api.client import new_side
from workspaces.services.model_calls import model_call
from workspaces.services.quotas import set_quotas


def test_usage_is_told_of_a_workspace_and_of_its_tenant_with_its_quotas() -> None:
    side = new_side()
    set_quotas(side.tenant, quotas={"tokens_per_day": 100})
    with model_call(
        side.workspace, purpose="generation", scope_id=side.workspace.pk, model="m"
    ) as call:
        call.usage = Usage(90, 10, estimated=False)
    told = side.caller.get(f"{side.base}/usage").json()
    assert told["total"] == {
        "calls": 1, "without_answer": 0, "input_tokens": 90, "output_tokens": 10, "cost": None,
        "without_price": 1,
    }  # fmt: skip
    assert [(day["purpose"], day["calls"]) for day in told["days"]] == [("generation", 1)]
    of_tenant = side.caller.get("usage").json()
    assert of_tenant["total"] == told["total"]
    quotas = {quota["name"]: quota for quota in of_tenant["quotas"]}
    assert quotas["tokens_per_day"] == {
        "name": "tokens_per_day", "limit": 100, "used": 100, "reached": True,
    }  # fmt: skip
    assert quotas["leaves"]["limit"] is None


@pytest.mark.parametrize(
    "query",
    ["since=yesterday", "since=2026-02-30", "since=1969-12-31", "since=2026-05-02&until=2026-05-01",
     "since=2020-01-01&until=2026-01-01", "day=2026-05-01"],
)  # fmt: skip
def test_a_time_that_usage_cannot_be_told_of_is_refused(query: str) -> None:
    side = new_side()
    answer = side.caller.get(f"{side.base}/usage?{query}")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


def test_an_open_circuit_is_shown() -> None:
    side = new_side()
    for _ in range(3):
        with (
            pytest.raises(ProviderError),
            model_call(side.workspace, purpose="generation", scope_id=side.workspace.pk, model="m"),
        ):
            raise ProviderError("out", retryable=True, detail={"kind": "timeout"})
    [circuit] = side.caller.get(f"{side.base}/circuits").json()["results"]
    assert (circuit["state"], circuit["failures"], circuit["reason"]) == ("open", 3, "timeout")
    assert circuit["next_probe_at"] > circuit["opened_at"]

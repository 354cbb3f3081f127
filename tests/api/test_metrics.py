"""`GET /metrics`: what an operator may know, without a tenant's name in it."""

import pytest
from django.test import Client

from holamem.environment import get_environment
from tests.api.client import Side
from tests.workspaces.memory import draft, remember


def scraped(client: Client, token: str = "") -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    response = client.get("/metrics", headers=headers)
    return response.status_code, response.content.decode()


def test_requests_stages_backlog_and_leaves_are_told(side: Side) -> None:
    remember(side.workspace, draft("The Atlas gateway listens on port 8443."))
    asked = side.caller.post(f"{side.base}/memory/retrieve", {"query": "Which port has Atlas?"})
    assert asked.status_code == 200
    status, text = scraped(Client())
    assert status == 200
    route = "api/v1/workspaces/<slug:ws>/memory/retrieve"
    assert f'holamem_request_seconds_count{{method="POST",route="{route}",status="200"}}' in text
    assert 'holamem_retrieval_seconds_count{stage="candidates"}' in text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines["holamem_leaves"]) >= 1
    assert float(lines["holamem_queue_age_seconds"]) >= 0
    assert float(lines["holamem_run_age_seconds"]) >= 0
    assert "holamem_open_circuits" in lines
    assert float(lines["holamem_distillation_backlog"]) >= 0
    assert str(side.tenant.slug) not in text
    assert str(side.workspace.id) not in text


def test_an_address_of_somebodys_choice_is_no_label() -> None:
    client = Client()
    client.get("/surely/not/an/address-of-ours")
    assert "address-of-ours" not in scraped(client)[1]


@pytest.mark.parametrize(
    ("token", "given", "status"),
    [
        ("s3cret-token", "s3cret-token", 200),
        ("s3cret-token", "other", 404),
        ("s3cret-token", "", 404),
    ],
)
def test_a_token_is_asked_for_where_one_is_set(
    monkeypatch: pytest.MonkeyPatch, token: str, given: str, status: int
) -> None:
    monkeypatch.setenv("HOLAMEM_METRICS_TOKEN", token)
    get_environment.cache_clear()
    try:
        assert scraped(Client(), given)[0] == status
    finally:
        get_environment.cache_clear()

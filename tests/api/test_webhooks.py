"""Webhooks over the API: who may, what is shown once, what is refused."""

from typing import Any

import pytest

from tests.api.client import Caller, Side, caller_for, codes

URL = "https://hooks.example.com/memory?token=abc"


def test_a_secret_is_shown_once_and_the_address_to_admins(
    api: Caller, base: str, side: Side
) -> None:
    made = api.post(f"{base}/webhooks", {"url": URL, "events": ["leaf.created"]})
    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    address = f"{base}/webhooks/{made.json()['webhook_id']}"
    shown = api.get(address).json()
    assert (shown["url"], shown["events"], shown["enabled"]) == (URL, ["leaf.created"], True)
    assert "secret" not in shown
    assert "secret" not in api.get(f"{base}/webhooks").json()["results"][0]
    trail = api.get(f"{base}/audit").content.decode()
    assert "webhook.created" in trail
    assert "hooks.example.com" not in trail
    writer = caller_for(side.tenant, permissions=["memory:read", "memory:write"])
    assert writer.get(address).status_code == 403


def test_a_replayed_creation_does_not_show_the_secret_again(api: Caller, base: str) -> None:
    first = api.post(f"{base}/webhooks", {"url": URL}, Idempotency_Key="hook-1")
    again = api.post(f"{base}/webhooks", {"url": URL}, Idempotency_Key="hook-1")
    assert again["Idempotent-Replayed"] == "true"
    assert again.json() == {**first.json(), "secret": None}
    assert len(api.get(f"{base}/webhooks").json()["results"]) == 1


def test_it_is_changed_pinged_and_deleted(api: Caller, base: str) -> None:
    webhook_id = api.post(f"{base}/webhooks", {"url": URL}).json()["webhook_id"]
    address = f"{base}/webhooks/{webhook_id}"
    ping = api.post(f"{address}:ping")
    assert (ping.status_code, ping.json()["event"], ping.json()["status"]) == (
        202,
        "ping",
        "pending",
    )
    assert api.get(f"{base}/status").json()["idle"] is True
    listed = api.get(f"{address}/deliveries?status=pending").json()["results"]
    assert [row["delivery_id"] for row in listed] == [ping.json()["delivery_id"]]
    changed = api.send("PATCH", address, {"enabled": False, "events": []})
    assert (changed.json()["enabled"], changed.json()["events"]) == (False, [])
    assert api.post(f"{address}:ping").status_code == 409
    assert api.get(f"{address}/deliveries").json()["results"][0]["status"] == "cancelled"
    assert api.send("DELETE", address).status_code == 204
    assert api.get(address).status_code == 404
    assert api.get(f"{address}/deliveries").status_code == 404


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"url": "required"}),
        ({"url": "http://127.0.0.1:5432/"}, {"url": "invalid"}),
        ({"url": "http://evil@169.254.169.254/"}, {"url": "invalid"}),
        ({"url": "file:///etc/passwd"}, {"url": "invalid"}),
        ({"url": URL, "events": ["leaf.read"]}, {"events[0]": "invalid_choice"}),
        ({"url": URL, "events": "leaf.created"}, {"events": "invalid_type"}),
        ({"url": URL, "secret": "mine"}, {"secret": "unknown_field"}),
    ],
)
def test_a_bad_body_names_the_field(
    api: Caller, base: str, body: Any, expected: dict[str, str]
) -> None:
    assert codes(api.post(f"{base}/webhooks", body)) == expected

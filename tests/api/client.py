"""A caller with an API key, and the world of two tenants that it meets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.test import Client

from workspaces.models.tenancy import ApiKey, EndUser, Tenant, Workspace
from workspaces.services.api_keys import issue_key
from workspaces.services.tenants import create_tenant, create_workspace

ALL = tuple(ApiKey.Permission.values)


class Caller:
    """Sends JSON with one key; `path` is below /api/v1 unless it starts with a slash."""

    def __init__(self, token: str | None) -> None:
        self.token = token
        self.client = Client(enforce_csrf_checks=True)

    def send(
        self, method: str, path: str, data: Any = None, *, raw: bytes | None = None, **headers: str
    ) -> Any:
        address = path if path.startswith("/") else f"/api/v1/{path}"
        body = raw if raw is not None else b"" if data is None else json.dumps(data).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        content_type = given.pop("Content-Type", "application/json" if body else "")
        if self.token is not None:
            given.setdefault("Authorization", f"Bearer {self.token}")
        return self.client.generic(method, address, body, content_type=content_type, headers=given)

    def get(self, path: str, **headers: str) -> Any:
        return self.send("GET", path, **headers)

    def post(self, path: str, data: Any = None, **headers: str) -> Any:
        return self.send("POST", path, data, **headers)


@dataclass(frozen=True)
class Side:
    """One tenant with a workspace named like everybody else's, and a key for all of it."""

    tenant: Tenant
    workspace: Workspace
    caller: Caller

    @property
    def base(self) -> str:
        return f"workspaces/{self.workspace.slug}"


def new_side(slug: str = "notes") -> Side:
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
    workspace = create_workspace(tenant, slug=slug, name="Notes")
    return Side(tenant, workspace, caller_for(tenant))


def caller_for(
    tenant: Tenant,
    *,
    permissions: Sequence[str] = ALL,
    workspace: Workspace | None = None,
    end_user: EndUser | None = None,
    **values: Any,
) -> Caller:
    issued = issue_key(
        tenant,
        name="test key",
        permissions=list(permissions),
        workspace=workspace,
        end_user=end_user,
        **values,
    )
    return Caller(issued.token)


def event_body(text: str = "Mara owns the Atlas gateway.", **values: Any) -> dict[str, Any]:
    return {
        "kind": "user_message",
        "text": text,
        "occurred_at": "2026-05-20T09:30:00+08:00",
        "admission": "accepted",
        **values,
    }


def codes(response: Any) -> dict[str, str]:
    """Code by field of a problem answer."""
    assert response["Content-Type"] == "application/problem+json", response.content
    return {item["field"]: item["code"] for item in response.json()["errors"]}


def is_uuid(value: str) -> bool:
    return str(UUID(value)) == value

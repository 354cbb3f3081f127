"""Sending one case of the matrix, and what no answer to a stranger may hold."""

import json
import re
from collections.abc import Mapping
from typing import Any

from django.test import Client

from tests.api.client import Caller, event_body
from tests.authz.routes import Case
from tests.authz.world import Side
from tests.verification import rows_of

CONNECTED = {"provider": "a", "account": "b", "kind": "markdown_folder", "settings": {"path": "/"}}
WS = "api/v1/workspaces/<slug:ws>"
SESSION = f"{WS}/sessions/<uuid:session_id>"
BODIES: dict[str, Any] = {
    "POST api/v1/keys": {"name": "made", "permissions": ["memory:read"]},
    "PATCH api/v1/members/<uuid:member_id>": {"role": "member"},
    "POST api/v1/invitations": {"role": "viewer"},
    "POST api/v1/workspaces": {"slug": "made", "name": "Made"},
    f"PATCH {WS}": {"name": "Renamed"},
    f"POST {WS}/events": event_body(),
    f"POST {WS}/events:batch": {"events": [event_body()]},
    f"POST {WS}/leaves/<uuid:leaf_id>:correct": {"text": "The Atlas gateway is else."},
    f"POST {WS}/leaves/<uuid:leaf_id>:move": {"entity": "atlas"},
    f"POST {WS}/leaves/<uuid:leaf_id>:erase": {"only_this": True},
    f"PATCH {WS}/entities/<slug:slug>": {"description": "A gateway."},
    f"POST {WS}/entities/<slug:slug>:merge": {"into": "atlas"},
    f"POST {WS}/integrations": CONNECTED,
    f"POST {WS}/webhooks": {"url": "http://localhost/hook"},
    f"PATCH {WS}/webhooks/<uuid:webhook_id>": {"enabled": True},
    f"POST {WS}/memory/retrieve": {"query": "What is the phrase of the Atlas gateway?"},
    "POST api/v1/memory/search": {"workspace": "notes", "query": "What is the phrase?"},
    "POST api/v1/memory/get": {"workspace": "notes", "path": "leaves/{leaf_id}"},
    "POST api/v1/memory/upsert": {"workspace": "notes", "content": "A fact.", "timeout_s": 1},
    "POST api/v1/memory/status": {"workspace": "notes"},
    "POST api/v1/memory/sync": {"workspace": "notes", "timeout_s": 1},
    f"POST {WS}/agents": {"slug": "made"},
    f"PATCH {WS}/agents/<slug:agent>": {"name": "Renamed"},
    f"POST {WS}/sessions": {"title": "Made"},
    f"PATCH {SESSION}": {"title": "Renamed"},
    f"POST {SESSION}/messages": {"role": "user", "content": "Which phrase?"},
    f"POST {SESSION}/runs": {"content": "Which phrase?"},
    f"POST {WS}/approvals/<uuid:approval_id>:decide": {"decisions": []},
    f"POST {WS}/distillations": {"session_id": "{session_id}", "dry_run": True},
    f"POST {WS}/retrievals/<uuid:retrieval_id>/feedback": {"verdict": "helpful"},
}
# Bodies that are no JSON: the first bytes of a ZIP file, and no more of it.
ARCHIVES = {f"POST {WS}/import": b"PK\x03\x04"}
# Where the address needs more than its path.
QUERIES = {
    "GET api/v1/memory/status": "?workspace=notes",
    f"GET {WS}/messages:search": "?query=say",
}
# What a page holds of the request itself.
OF_THE_REQUEST = re.compile(rb'nonce="[^"]*"|name="(csrfmiddlewaretoken|next)" value="[^"]*"')
# Reading a tree of the name "…:seal", which nobody has.
OTHERWISE_NAMED = (":seal", ":rebuild")


def ask(caller: Caller, case: Case, values: Mapping[str, object], **headers: str) -> Any:
    body = _filled(BODIES.get(f"{case.method} {case.route}"), values)
    query = QUERIES.get(f"{case.method} {case.route}", "")
    archive = ARCHIVES.get(f"{case.method} {case.route}")
    if archive is not None:
        headers["Content_Type"] = "application/zip"
        return caller.send(case.method, case.address(values), raw=archive, **headers)
    return caller.send(case.method, case.address(values) + query, body, **headers)


def _filled(body: Any, values: Mapping[str, object]) -> Any:
    """With the ids that a body names, as the address has them."""
    if isinstance(body, dict) and isinstance(body.get("path"), str):
        return {**body, "path": body["path"].replace("{leaf_id}", str(values["leaf_id"]))}
    return body


def reading(among: list[Case]) -> list[Case]:
    found = [case for case in among if case.method == "GET"]
    return [case for case in found if not case.route.endswith(OTHERWISE_NAMED)]


def browse(client: Client, case: Case, values: Mapping[str, object]) -> Any:
    return client.generic(case.method, case.address(values))


def content_of(response: Any) -> bytes:
    """Also of a file that is sent; it can be read once."""
    if response.streaming:
        return b"".join(response.streaming_content)
    return bytes(response.content)


def told(response: Any) -> tuple[int, Any]:
    """All that an answer tells but for the address, which the caller knows."""
    if response["Content-Type"] == "application/problem+json":
        return response.status_code, {**response.json(), "instance": ""}
    return response.status_code, OF_THE_REQUEST.sub(b"", content_of(response))


def holds(response: Any, *words: str) -> bool:
    """In the body or in any header."""
    text = content_of(response).decode(errors="replace") + json.dumps(dict(response.headers))
    return any(word in text for word in words)


def rows(side: Side) -> list[object]:
    """Of all tables but that of keys, which note their use."""
    found = [*rows_of(side.workspace), *rows_of(side.other)]
    return [row for row in found if row[0] != "workspaces_apikey"]

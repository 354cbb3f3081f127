"""Tools of a deployment that are reached over HTTP, as a file of its operator describes them.

    tools:
      - name: get_status
        description: State of a service. Use it before saying that one is up.
        parameters: {type: object, properties: {service: {type: string}}, required: [service]}
        url: https://ops.example.com/tools/status
        headers: {Authorization: "Bearer ${STATUS_TOKEN}"}
        capabilities: [read]
        is_idempotent: true

Each call is one POST. What a header holds of a secret stands in the environment, not in the file.
"""

import os
import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx2
import yaml
from django.core.exceptions import ImproperlyConfigured
from jsonschema import Draft202012Validator, SchemaError
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError, field_validator

from agents.models.runs import ToolCall
from agents.tools.registry import (
    Tool,
    ToolContext,
    ToolOutcome,
    all_tools,
    register_tool,
)
from holamem.environment import get_environment
from workspaces.models.tenancy import ApiKey

ANSWER_BYTES = 400_000
CONNECT_SECONDS = 5.0
RESERVED = "memory_"  # names of ours, also of later ones
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Z][A-Z0-9_]*)\}")


class OutsideTool(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    description: Annotated[str, Field(min_length=1, max_length=2_000)]
    parameters: dict[str, Any]
    url: HttpUrl
    headers: dict[str, str] = {}
    capabilities: list[Literal["read", "write", "memory"]] = ["read"]
    needs_approval: bool = False
    is_idempotent: bool = False
    permission: Literal["", "memory:read", "memory:write", "admin"] = ""
    failure_policy: Literal["continue", "stop"] = "continue"
    parallel: bool = True
    is_evidence: bool = True
    seconds: Annotated[float, Field(gt=0, le=600)] = 30

    @field_validator("name")
    @classmethod
    def is_its_own(cls, value: str) -> str:
        if value.startswith(RESERVED):
            raise ValueError(f"must not begin with {RESERVED}")
        return value


class ToolsFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tools: list[OutsideTool]


def register() -> None:
    """Called once when the app is ready. Raises ImproperlyConfigured naming what is wrong."""
    path = get_environment().tools_file
    if path:
        for described in read_tools(Path(path)):
            register_tool(described)


def read_tools(path: Path) -> list[Tool]:
    """Raises ImproperlyConfigured."""
    try:
        found = ToolsFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        tools = [tool_of(described) for described in found.tools]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, SchemaError) as error:
        raise ImproperlyConfigured(f"HOLAMEM_TOOLS_FILE cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ImproperlyConfigured(f"HOLAMEM_TOOLS_FILE: {place}: {first['msg']}") from error
    names = [tool.name for tool in tools]
    doubled = {name for name in names if names.count(name) > 1} | (set(names) & set(all_tools()))
    if doubled:
        raise ImproperlyConfigured(f"HOLAMEM_TOOLS_FILE: {sorted(doubled)[0]} is there twice.")
    return tools


def tool_of(described: OutsideTool) -> Tool:
    """Raises SchemaError for parameters that are no JSON schema."""
    Draft202012Validator.check_schema(described.parameters)
    return Tool(
        name=described.name,
        description=described.description,
        parameters=described.parameters,
        execute=partial(call, described, headers=_filled(described.headers)),
        capabilities=frozenset(described.capabilities),
        needs_approval=described.needs_approval,
        is_idempotent=described.is_idempotent,
        permission=described.permission and ApiKey.Permission(described.permission),
        failure_policy=ToolCall.FailurePolicy(described.failure_policy),
        parallel=described.parallel,
        is_evidence=described.is_evidence,
        seconds=described.seconds + CONNECT_SECONDS,
    )


def _filled(headers: dict[str, str]) -> dict[str, str]:
    """Raises ImproperlyConfigured for a variable that is not set."""
    names = [match["name"] for value in headers.values() for match in _VARIABLE.finditer(value)]
    for name in names:
        if name not in os.environ:
            raise ImproperlyConfigured(f"HOLAMEM_TOOLS_FILE needs the variable {name}.")
    return {
        key: _VARIABLE.sub(lambda match: os.environ[match["name"]], value)
        for key, value in headers.items()
    }


def call(
    described: OutsideTool,
    context: ToolContext,
    arguments: dict[str, Any],
    *,
    headers: dict[str, str],
) -> ToolOutcome:
    """The call's id goes along as the idempotency key, so that the other side can run it once.

    Without an answer nobody knows what a tool that cannot be repeated has done.
    """
    timeout = httpx2.Timeout(described.seconds, connect=CONNECT_SECONDS)
    body = {
        "name": described.name,
        "arguments": arguments,
        "call_id": str(context.call.id),
        "run_id": str(context.run.id),
        "session_id": str(context.session.id),
        "workspace": context.workspace.slug,
    }
    keyed = {**headers, "Idempotency-Key": str(context.call.id)}
    try:
        with (
            httpx2.Client(timeout=timeout, follow_redirects=False) as client,
            client.stream("POST", str(described.url), json=body, headers=keyed) as answer,
        ):
            return _outcome(answer)
    except (httpx2.ConnectError, httpx2.ConnectTimeout):
        return ToolOutcome(False, "The tool cannot be reached.", "unreachable")
    except httpx2.HTTPError:
        words = "The tool's answer did not come."
        return ToolOutcome(False, words, "no_answer", is_known=described.is_idempotent)


def _outcome(answer: httpx2.Response) -> ToolOutcome:
    """Its text, as far as it is read; a status of 2xx is a success."""
    data = b""
    for piece in answer.iter_bytes():
        data += piece
        if len(data) > ANSWER_BYTES:
            break
    text = data[:ANSWER_BYTES].decode("utf-8", "replace")
    if answer.is_success:
        return ToolOutcome(True, text)
    return ToolOutcome(False, text or "The tool refused.", f"status_{answer.status_code}")

"""The tools: operations of the REST API, called in this process.

A call goes through the view of the operation with the caller's own key. So keys, permissions,
limits, checks and words of errors can't differ from those of REST.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.core.handlers.wsgi import WSGIRequest
from django.core.validators import slug_re
from django.urls import Resolver404, ResolverMatch, resolve

from holamem.http.problems import NO_ADDRESS, FieldProblem, Problem, api_not_found
from holamem.logs import request_id
from retrieval.mcp.protocol import UnknownTool
from retrieval.mcp.registry import Tool, all_tools, find_tool
from retrieval.mcp.schemas import input_schema, output_schema, path_names, query_names
from workspaces.models.tenancy import ApiKey
from workspaces.services.principals import Principal, workspaces_of

NO_WORKSPACE = "There is no such workspace."
SCALARS = (str, int, bool)
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KeyTools:
    """What one key may call. `authorization` is the header that the views will read.

    `sent` holds the tools whose views were asked, which count the requests of a key.
    """

    principal: Principal
    authorization: str
    sent: list[str] = field(default_factory=list)

    def listed(self) -> list[dict[str, Any]]:
        return [
            self._described(tool) for tool in all_tools() if self.principal.allows(tool.permission)
        ]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        tool = find_tool(name)
        if tool is None:
            raise UnknownTool
        given = {**tool.defaults, **arguments}
        try:
            slug = self._workspace(given)
        except _Unusable as unusable:
            return _failed(unusable.problem.body(name))
        return self._send(tool, slug=slug, given=given)

    def _described(self, tool: Tool) -> dict[str, Any]:
        schema = input_schema(
            tool.operation_id,
            defaults=tool.defaults,
            with_workspace=self.principal.workspace_id is None,
            hidden=("user_id",) if self.principal.end_user_id is not None else (),
        )
        described = {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": schema,
            "annotations": {
                "readOnlyHint": tool.permission == ApiKey.Permission.MEMORY_READ,
                "destructiveHint": False,
                "openWorldHint": False,
            },
        }
        if tool.has_one_shape:
            described["outputSchema"] = output_schema(tool.operation_id)
        return described

    def _workspace(self, given: dict[str, Any]) -> str:
        """The slug; taken out of the arguments of a key that is bound to none."""
        if self.principal.workspace_id is not None:
            bound = workspaces_of(self.principal)
            if not bound:
                raise _unusable(404, "not_found", NO_WORKSPACE)
            return bound[0].slug
        slug = given.pop("workspace", None)
        if slug is None:
            raise _unusable(400, "required", "This key needs a workspace.", field="workspace")
        if not isinstance(slug, str):
            raise _unusable(400, "invalid_type", "A string is expected.", field="workspace")
        if slug_re.fullmatch(slug) is None:
            raise _unusable(404, "not_found", NO_WORKSPACE)
        return slug

    def _send(self, tool: Tool, *, slug: str, given: dict[str, Any]) -> Result:
        path = f"/api/v1/workspaces/{slug}/{tool.path}"
        try:
            path = path.format_map(_places(tool, given))
            query = _query(tool, given)
        except _Unusable as unusable:
            return _failed(unusable.problem.body(path))
        match = _match(path)
        if match is None:
            return _failed(Problem(404, "not_found", NO_ADDRESS).body(tool.name))
        body = b"" if tool.method == "GET" else json.dumps(given).encode()
        request = _request(tool.method, path=path, query=query, body=body)
        request.META["HTTP_AUTHORIZATION"] = self.authorization
        self.sent.append(tool.name)
        response = match.func(request, *match.args, **match.kwargs).render()
        return _result(json.loads(response.content), is_error=response.status_code >= 400)


@dataclass(frozen=True)
class _Unusable(Exception):
    problem: Problem


def _unusable(status: int, code: str, message: str, *, field: str = "") -> _Unusable:
    return _Unusable(Problem(status, code, message, [FieldProblem(field, code, message)]))


def _match(path: str) -> ResolverMatch | None:
    """None where a part is what no name can be: with a slash, a line end, half a character."""
    try:
        path.encode()
        match = resolve(path)
    except (Resolver404, UnicodeEncodeError):
        return None
    return None if match.func is api_not_found else match


def _places(tool: Tool, given: dict[str, Any]) -> dict[str, str]:
    """The arguments that are parts of the address, taken out of the rest."""
    places = {}
    for name in path_names(tool.operation_id):
        value = given.pop(name, None)
        if not isinstance(value, str) or not value:
            code = "required" if value is None else "invalid_type"
            raise _unusable(400, code, "A string is expected.", field=name)
        places[name] = value
    return places


def _query(tool: Tool, given: dict[str, Any]) -> str:
    """The arguments that the operation takes in its address, taken out of the rest.

    Of an operation without a body these are all arguments, so that a view names unknown ones.
    """
    names = list(given) if tool.method == "GET" else query_names(tool.operation_id)
    named = {name: given.pop(name, None) for name in names}
    taken = {name: value for name, value in named.items() if value is not None}
    for name, value in taken.items():
        if not isinstance(value, SCALARS):
            raise _unusable(400, "invalid_type", "One value is expected.", field=name)
    pairs = {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in taken.items()}
    return urlencode(pairs, errors="surrogatepass")


def _request(method: str, *, path: str, query: str, body: bytes) -> WSGIRequest:
    return WSGIRequest(
        {
            "REQUEST_METHOD": method,
            "PATH_INFO": path.encode().decode("latin-1"),  # how WSGI carries bytes
            "QUERY_STRING": query,
            "CONTENT_TYPE": "application/json" if body else "",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_X_REQUEST_ID": request_id.get() or "",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "wsgi.input": io.BytesIO(body),
            "wsgi.url_scheme": "http",
        }
    )


def _result(data: Mapping[str, Any], *, is_error: bool) -> Result:
    return _failed(data) if is_error else _content(data, text=json.dumps(data, ensure_ascii=False))


def _failed(problem: Mapping[str, Any]) -> Result:
    """In words that a model can act on: which argument, and what is wrong with it."""
    lines = [
        f"{item['field']}: {item['message']}" if item["field"] else item["message"]
        for item in problem["errors"]
    ]
    return {**_content(problem, text="\n".join(lines)), "isError": True}


def _content(data: Mapping[str, Any], *, text: str) -> Result:
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": dict(data),
        "isError": False,
    }

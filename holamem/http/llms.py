"""`GET /llms.txt`: what a language model needs in order to use this server, on one page."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

TEXT = """\
# holamem

> Long-term memory for AI agents. Facts go in as events; questions are answered with evidence, and
> what memory does not hold comes back as a gap instead of a guess.

Every call needs `Authorization: Bearer hm_...`. Bodies are JSON, errors `application/problem+json`
with the field at fault. Every write takes an `Idempotency-Key`.

## Use it
- `GET {base}/api/v1/me`: the key's tenant, workspace, end user and permissions
- `POST {base}/api/v1/workspaces/{{ws}}/events`: remember
  `{{"kind": "user_message", "text": "...", "user_id"?: "..."}}`; `?wait=true` answers when it is done
- `POST {base}/api/v1/workspaces/{{ws}}/memory/retrieve`: ask `{{"query": "...", "user_id"?: "..."}}`;
  the answer has known facts, evidence, coverage, gaps, the next step, and `prompt` to put into a
  prompt as data
- `GET {base}/api/v1/workspaces/{{ws}}/memory/browse`: walk the trees
- `POST {base}/api/v1/workspaces/{{ws}}/sessions`, then `POST .../sessions/{{id}}/runs` and
  `GET .../sessions/{{id}}/events` (SSE): talk to an agent on this memory

## Tools
- {base}/mcp: Model Context Protocol over streamable HTTP, with the same keys

## Reference
- [OpenAPI]({base}/openapi.json)
- [Rendered]({base}/api/v1/docs)
"""


@require_safe
def llms_txt(request: HttpRequest) -> HttpResponse:
    base = request.build_absolute_uri("/").rstrip("/")
    return HttpResponse(TEXT.format(base=base), content_type="text/plain; charset=utf-8")

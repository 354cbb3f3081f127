"""A chat model for the write path that answers each purpose as a test says.

    with scripted_model(monkeypatch) as model:
        model.answers["assignment"] = create("Atlas", evidence="Atlas gateway")
        remember(workspace, draft("The Atlas gateway listens on port 8443."))
        model.purposes()  # ["assignment"]

Answers are behaviours of `tests.openai_server`; `reply(function)` makes one from the question.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holamem.environment import get_environment
from holamem.providers import attempts, registry
from tests.openai_server import Behaviour, OpenAIServer, Reply, Request, answer, completion

MODEL_NAME = "scripted"
JSON = dict[str, Any]


class ScriptedModel(OpenAIServer):
    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, Behaviour] = {
            "admission": answer({"confidence": 0.9, "reason": "durable_fact"}),
            "assignment": reply(assignment),
            "comparison": answer({"relation": "different", "leaf_id": None, "confidence": 0.9}),
            "summary": reply(faithful_summary),
        }

    def reply_to(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
        return self.answers[purpose_of(request)](request)

    def purposes(self) -> list[str]:
        return [purpose_of(request) for request in self.chats()]

    def documents(self, purpose: str) -> list[JSON]:
        """What the model was shown, question by question."""
        return [question_of(r) for r in self.chats() if purpose_of(r) == purpose]


def purpose_of(request: Request) -> str:
    return str(request.body["response_format"]["json_schema"]["name"])


def question_of(request: Request) -> JSON:
    document: JSON = json.loads(request.body["messages"][1]["content"])
    return document


def reply(function: Callable[[JSON], JSON]) -> Behaviour:
    """Answer with what `function` makes of the question's document."""
    return lambda request: completion(
        json.dumps(function(question_of(request)), ensure_ascii=False)
    )


def assignment(document: JSON | None = None, **changes: Any) -> JSON:
    """A well-formed answer that decides nothing, with `changes`."""
    return {
        "action": "fallback",
        "entity_id": None,
        "match_confidence": 0.0,
        "new_entity": None,
        "create_confidence": 0.0,
        "secondary": [],
        "title": "A title",
        "summary": "A summary of the memory.",
        "labels": ["label"],
        "subject_key": "subject|attribute",
    } | changes


def new_entity(name: str, *, evidence: str, **changes: Any) -> JSON:
    return (
        assignment(
            action="create_new",
            new_entity={"type": "system", "name": name, "evidence": evidence},
            create_confidence=0.9,
        )
        | changes
    )


def create(name: str, *, evidence: str, **changes: Any) -> Behaviour:
    return answer(new_entity(name, evidence=evidence, **changes))


def match_first(**changes: Any) -> Behaviour:
    """Assign to the first entity of the shortlist."""

    def matching(document: JSON) -> JSON:
        entity_id = document["candidates"][0]["entity_id"]
        found = {"action": "match_existing", "entity_id": entity_id, "match_confidence": 0.9}
        return assignment(**found, **changes)

    return reply(matching)


def relate_to_first(relation: str, *, confidence: float = 0.9) -> Behaviour:
    """Compare as `relation` with the first leaf that was shown."""

    def relating(document: JSON) -> JSON:
        leaf_id = document["leaves"][0]["leaf_id"]
        return {"relation": relation, "leaf_id": leaf_id, "confidence": confidence}

    return reply(relating)


def faithful_summary(document: JSON) -> JSON:
    """One bullet for each child, in the child's own words."""
    bullets = [
        {"text": child["text"].split("\n")[0], "node_id": child["node_id"]}
        for child in document["children"]
    ]
    title = document["tree_title"]
    return {"title": title, "summary": f"About {title}.", "bullets": bullets, "labels": []}


@contextmanager
def scripted_model(monkeypatch: pytest.MonkeyPatch, **settings: str) -> Iterator[ScriptedModel]:
    """Configure the process to judge with this model; `settings` are further variables."""
    with ScriptedModel() as model:
        variables = {
            "HOLAMEM_CHAT_MODEL": MODEL_NAME,
            "OPENAI_API_KEY": "test-key",
            "OPENAI_BASE_URL": model.base_url,
        }
        for name, value in {**variables, **settings}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(attempts, "BACKOFF_SECONDS", 0.0)
        _reread_settings()
        try:
            yield model
        finally:
            monkeypatch.undo()
            _reread_settings()


def _reread_settings() -> None:
    get_environment.cache_clear()
    registry.reset()

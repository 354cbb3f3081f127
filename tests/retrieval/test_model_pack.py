from typing import Any

import pytest

from holamem.errors import ProviderError
from holamem.providers.base import StructuredReply, Usage
from retrieval.stages.model_pack import ModelItem, ModelPack
from tests.retrieval.asking import ask
from tests.retrieval.factories import MemoryMaker
from workspaces.services import model_calls

QUESTION = "Which port does the Atlas gateway listen on?"


class ScriptedChat:
    model_name = "scripted"

    def __init__(self, *facts: tuple[str, list[str]]) -> None:
        self.facts = facts
        self.prompts: list[str] = []

    def complete_structured(self, *, user: str, **_: Any) -> StructuredReply[ModelPack]:
        self.prompts.append(user)
        items = [ModelItem(text=text, evidence_ids=ids) for text, ids in self.facts]
        reply = ModelPack(
            known_facts=items,
            recent_high_signal_items=[],
            constraints=[],
            blockers=[],
            open_questions=[],
        )
        return StructuredReply(reply, Usage(1, 1, False), "json_schema")


class BrokenChat:
    model_name = "broken"

    def complete_structured(self, **_: Any) -> Any:
        raise ProviderError("The model is out.", retryable=True)


@pytest.fixture
def atlas(memory: MemoryMaker) -> MemoryMaker:
    memory.leaf("The Atlas gateway listens on port 8443.")
    return memory


def use(monkeypatch: pytest.MonkeyPatch, chat: object) -> None:
    monkeypatch.setattr(model_calls, "chat_model", lambda: chat)


def test_a_model_words_the_facts(atlas: MemoryMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = ScriptedChat(("Atlas uses 8443.", ["E1"]))
    use(monkeypatch, chat)

    answer = ask(atlas.workspace, QUESTION)

    assert [item["text"] for item in answer["retrieval_pack"]["known_facts"]] == [
        "Atlas uses 8443."
    ]
    assert answer["coverage"]["used"]["model"] is True
    assert "The Atlas gateway listens on port 8443." in chat.prompts[0]


def test_an_item_with_a_false_citation_is_dropped(
    atlas: MemoryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(
        monkeypatch,
        ScriptedChat(("Atlas uses 8443.", ["E1"]), ("Atlas is pink.", ["E1", "E99"])),
    )

    facts = ask(atlas.workspace, QUESTION)["retrieval_pack"]["known_facts"]

    assert [item["text"] for item in facts] == ["Atlas uses 8443."]


@pytest.mark.parametrize("chat", [BrokenChat(), ScriptedChat(("Invented.", ["E99"]))])
def test_a_useless_model_leaves_the_extractive_pack(
    atlas: MemoryMaker, monkeypatch: pytest.MonkeyPatch, chat: object
) -> None:
    use(monkeypatch, chat)

    answer = ask(atlas.workspace, QUESTION)

    assert "8443" in answer["retrieval_pack"]["known_facts"][0]["text"]
    assert answer["degraded"] == ["model"]
    assert answer["coverage"]["used"]["model"] is False


def test_the_model_is_not_asked_when_reasoning_is_off_or_nothing_is_known(
    atlas: MemoryMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = ScriptedChat(("Atlas uses 8443.", ["E1"]))
    use(monkeypatch, chat)

    ask(atlas.workspace, QUESTION, reasoning="off")
    ask(atlas.workspace, "How tall is the Eiffel Tower?")

    assert chat.prompts == []

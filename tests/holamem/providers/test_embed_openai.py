import math

import pytest

from holamem.errors import ProviderError
from holamem.providers.embed_openai import OpenAIEmbedder
from tests import openai_server as scripted
from tests.openai_server import DIMENSION, Behaviour, OpenAIServer


@pytest.fixture
def embedder(server: OpenAIServer, pauses: list[float]) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        model_name="test-embedding", base_url=server.base_url, pause=pauses.append
    )


def inputs(server: OpenAIServer) -> list[list[str]]:
    return [request.body["input"] for request in server.requests]


def direction(text: str) -> list[float]:
    vector = scripted.vector_of(text)
    length = math.hypot(*vector)
    return [value / length for value in vector]


def test_vectors_are_unit_length_and_in_order(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    vectors = embedder.embed_passages(["one", "二", "three"])

    assert vectors == [pytest.approx(direction(text)) for text in ("one", "二", "three")]
    assert server.requests[0].body["encoding_format"] == "float"


def test_shuffled_vectors_are_put_back_in_order(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    server.embeddings = scripted.shuffled()

    vectors = embedder.embed_passages(["one", "two", "three"])

    assert vectors[0] == pytest.approx(direction("one"))
    assert vectors[2] == pytest.approx(direction("three"))


def test_the_dimension_is_probed_once(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    assert embedder.dimension == DIMENSION
    assert embedder.dimension == DIMENSION
    assert len(server.requests) == 1


def test_another_dimension_than_before_is_refused(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    embedder.probe()
    server.embeddings = scripted.wrong_dimension()

    with pytest.raises(ProviderError) as caught:
        embedder.embed_passages(["one", "two"])

    assert caught.value.detail == {
        "kind": "dimension",
        "expected": DIMENSION,
        "found": DIMENSION + 1,
    }
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "behaviour",
    [
        scripted.not_a_number(),
        scripted.zero(),
        scripted.short(),
        scripted.embeddings(change=lambda rows: [{**row, "index": 7} for row in rows]),
        scripted.embeddings(change=lambda rows: [{**row, "embedding": None} for row in rows]),
        scripted.embeddings(change=lambda rows: [{**row, "embedding": "AAAA"} for row in rows]),
        scripted.embeddings(
            change=lambda rows: [{**row, "embedding": [1e308] * 8} for row in rows]
        ),
        scripted.embeddings(change=lambda rows: [*rows, *rows]),
        lambda request: scripted.Reply("[]"),
        lambda request: scripted.Reply("<html>"),
        scripted.failure(400, "no"),
    ],
)
def test_unusable_vectors_are_refused(
    server: OpenAIServer, embedder: OpenAIEmbedder, behaviour: Behaviour
) -> None:
    server.embeddings = behaviour

    with pytest.raises(ProviderError) as for_query:
        embedder.embed_query("one")
    with pytest.raises(ProviderError) as for_passages:
        embedder.embed_passages(["one", "two"])

    assert not for_query.value.retryable
    assert not for_passages.value.retryable


def test_one_bad_text_does_not_cost_the_others_their_vectors(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    server.embeddings = scripted.refusing_text("text 37")
    texts = [f"text {number}" for number in range(64)]

    vectors = embedder.embed_passages(texts)

    assert vectors[37] == []
    assert sum(1 for vector in vectors if len(vector) == DIMENSION) == 63
    assert vectors[38] == pytest.approx(direction("text 38"))
    assert len(server.requests) == 13


def test_a_service_that_refuses_everything_is_not_asked_for_every_text(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    server.embeddings = scripted.failure(400, "no")

    with pytest.raises(ProviderError):
        embedder.embed_passages([f"text {number}" for number in range(64)])

    assert len(server.requests) == 33


def test_an_outage_is_retryable_and_not_split(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    server.embeddings = scripted.failure(503)

    with pytest.raises(ProviderError) as caught:
        embedder.embed_passages(["one", "two"])

    assert caught.value.retryable
    assert inputs(server) == [["one", "two"]] * 3


def test_blank_texts_are_not_sent(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    vectors = embedder.embed_passages(["", " \n", "one\x00two", "\ud800"])

    assert [len(vector) for vector in vectors] == [0, 0, DIMENSION, DIMENSION]
    assert inputs(server) == [["one two", "?"]]
    assert embedder.embed_passages([]) == []
    assert embedder.embed_passages([" "]) == [[]]


def test_texts_are_sent_in_batches_of_64(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    embedder.embed_passages([f"text {number}" for number in range(130)])

    assert [len(batch) for batch in inputs(server)] == [64, 64, 2]


def test_a_repeated_query_is_answered_from_the_cache(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    first = embedder.embed_query("same")
    first.append(9.0)
    second = embedder.embed_query(" same ")

    assert second == pytest.approx(direction("same"))
    assert len(server.requests) == 1


def test_a_blank_query_is_refused(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    with pytest.raises(ProviderError):
        embedder.embed_query(" ")

    assert server.requests == []

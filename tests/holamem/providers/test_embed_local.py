import math

import pytest

from holamem.errors import ProviderError
from holamem.providers.embed_local import DIMENSION, MODEL_NAME, LocalEmbedder
from holamem.providers.vectors import QueryCache


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def similarity(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def test_the_model_is_named_with_its_dimension(embedder: LocalEmbedder) -> None:
    assert (embedder.model_name, embedder.dimension) == ("multilingual-e5-small", 384)
    assert (embedder.model_name, embedder.dimension) == (MODEL_NAME, DIMENSION)


@pytest.mark.parametrize(
    ("query", "fitting", "unrelated"),
    [
        (
            "Why did the deployment break?",
            "The release failed because the disk of the server was full.",
            "My grandmother bakes bread with rye flour on Sundays.",
        ),
        (
            "部署为什么失败了?",
            "因为服务器的磁盘满了,所以发布没有成功。",
            "我奶奶每个星期天用黑麦粉烤面包。",
        ),
        (
            "部署为什么失败了?",
            "The release failed because the disk of the server was full.",
            "My grandmother bakes bread with rye flour on Sundays.",
        ),
    ],
    ids=["English", "Chinese", "Chinese to English"],
)
def test_a_fitting_passage_is_closer_than_an_unrelated_one(
    embedder: LocalEmbedder, query: str, fitting: str, unrelated: str
) -> None:
    asked = embedder.embed_query(query)
    near, far = embedder.embed_passages([fitting, unrelated])

    assert similarity(asked, near) > similarity(asked, far)


def test_vectors_have_unit_length(embedder: LocalEmbedder) -> None:
    vectors = [*embedder.embed_passages(["a", "文"]), embedder.embed_query("a")]

    assert [len(vector) for vector in vectors] == [384, 384, 384]
    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1, 1, 1])


def test_a_text_has_the_same_vector_alone_and_in_a_batch(embedder: LocalEmbedder) -> None:
    together = embedder.embed_passages(["apple", "pear", "苹果"])
    alone = embedder.embed_passages(["苹果"])

    assert together[2] == pytest.approx(alone[0], abs=1e-5)


def test_blank_and_broken_texts_do_not_cost_the_others_their_vectors(
    embedder: LocalEmbedder,
) -> None:
    vectors = embedder.embed_passages(["", "good", " ", "\ud800 half"])

    assert [len(vector) for vector in vectors] == [0, 384, 0, 384]
    assert embedder.embed_passages([]) == []


def test_text_after_a_nul_still_counts(embedder: LocalEmbedder) -> None:
    cut, whole = embedder.embed_passages(["disk", "disk\x00is full of cats"])

    assert similarity(cut, whole) < 0.999


def test_a_blank_query_is_refused(embedder: LocalEmbedder) -> None:
    with pytest.raises(ProviderError):
        embedder.embed_query("\x00 ")


def test_the_query_cache_drops_the_least_recently_used() -> None:
    cache = QueryCache(entries=2)
    computed: list[str] = []

    def compute(text: str) -> list[float]:
        computed.append(text)
        return [1.0]

    for text in ("a", "b", "a", "c", "a", "b"):
        cache.get(text, compute)

    assert computed == ["a", "b", "c", "b"]

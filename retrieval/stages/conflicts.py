"""Do two current leaves on one subject disagree, or do they say different things about it?"""

from collections.abc import Sequence

from holamem.text.languages import has_han
from retrieval.stages.coverage import terms_of
from retrieval.stages.intent import names_in
from retrieval.types import Hydrated

# Two statements that disagree say nearly the same with another value. Leaves on one subject
# that share fewer words than this are about different sides of it.
SHARED_WORDS = 0.5
SHARED_WORDS_WITHOUT_VALUES = 0.6


def conflicting_pair(items: Sequence[Hydrated]) -> tuple[Hydrated, Hydrated] | None:
    """The first two of these that stand for one subject of a tree and disagree."""
    by_node = {item.row.node_id: item for item in items}
    for item in items:
        for other_id in item.row.conflicts:
            other = by_node.get(other_id)
            if other is not None and disagree(_text(item), _text(other)):
                return item, other
    return None


def _text(item: Hydrated) -> str:
    return " ".join(sentence.text for sentence in item.sentences)


def disagree(first: str, second: str) -> bool:
    """The same words, but each with a value (or else a word) that the other does not have."""
    words, other_words = _words(first), _words(second)
    if not words or not other_words:
        return False
    shared = len(words & other_words) / min(len(words), len(other_words))
    values, other_values = values_of(first), values_of(second)
    if values or other_values:
        return shared >= SHARED_WORDS and bool(values - other_values and other_values - values)
    differ = bool(words - other_words and other_words - words)
    return shared >= SHARED_WORDS_WITHOUT_VALUES and differ


def _words(text: str) -> frozenset[str]:
    """Terms, of Chinese the single characters: one changed word changes four pairs."""
    latin = {term for term in terms_of(text) if not has_han(term)}
    return frozenset(latin) | frozenset(sign for sign in text if has_han(sign))


def values_of(text: str) -> frozenset[str]:
    """Numbers, identifiers and names: what facts differ in."""
    numbers = {term for term in terms_of(text) if any(sign.isdigit() for sign in term)}
    return frozenset(numbers) | frozenset(names_in(text))

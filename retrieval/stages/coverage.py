"""How much of a question's words a text covers, weighed by how rare they are in this memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from holamem.text.languages import has_han, language_of
from holamem.text.segment import terms
from holamem.text.stopwords import CHINESE_FUNCTION_CHARACTERS
from retrieval.stages.calibration import QuestionTraits
from retrieval.stages.candidates import Candidates
from retrieval.stages.words import idf
from retrieval.types import Question


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that an answer should speak of: covered by any one of its terms."""

    terms: frozenset[str]
    weight: float


def question_units(question: Question, *, candidates: Candidates) -> list[Unit]:
    """A word is one unit; of Chinese each character is one, covered by a pair that it stands in.

    Pairs that span two words occur nowhere and would count as missing words, so a character
    takes the weight of its more frequent pair.
    """
    documents = candidates.found.documents
    weights = {t: idf(candidates.frequency_of(t), documents) for t in question.topic_terms}
    words = [Unit(frozenset([t]), weights[t]) for t in question.topic_terms if not _is_pair(t)]
    pairs = [t for t in question.topic_terms if _is_pair(t)]
    return words + _character_units(pairs, weights)


def _is_pair(term: str) -> bool:
    return len(term) == 2 and has_han(term[0]) and has_han(term[1])


def _character_units(pairs: Sequence[str], weights: dict[str, float]) -> list[Unit]:
    """Half a word's weight a character: most Chinese words have two."""
    places: list[list[str]] = []
    previous = ""
    for pair in pairs:
        if previous and previous[1] == pair[0]:
            places[-1].append(pair)
        else:
            places.append([pair])
        places.append([pair])
        previous = pair
    characters = _characters(pairs)
    return [
        Unit(frozenset(around), min(weights[pair] for pair in around) / 2)
        for character, around in zip(characters, places, strict=True)
        if character not in CHINESE_FUNCTION_CHARACTERS
    ]


def _characters(pairs: Sequence[str]) -> list[str]:
    """The characters that the pairs spell, each place once."""
    found: list[str] = []
    previous = ""
    for pair in pairs:
        if not (previous and previous[1] == pair[0]):
            found.append(pair[0])
        found.append(pair[1])
        previous = pair
    return found


def share_covered(units: Sequence[Unit], present: Iterable[str]) -> float:
    """0..1; 1 for a question without content words, which any text answers as well as another."""
    total = sum(unit.weight for unit in units)
    if total <= 0:
        return 1.0
    held = frozenset(present)
    return sum(unit.weight for unit in units if unit.terms & held) / total


def traits_of(question: Question, *, candidates: Candidates) -> QuestionTraits:
    return QuestionTraits(
        language=language_of(question.text),
        model_name=candidates.model_name,
        unseen_stretch=_unseen_stretch(question, candidates=candidates),
    )


def _unseen_stretch(question: Question, *, candidates: Candidates) -> int:
    """Characters of the longest run of pairs that no document of the memory holds."""
    longest = run = 0
    previous = ""
    for pair in question.topic_terms:
        unseen = _is_pair(pair) and candidates.frequency_of(pair) == 0
        goes_on = run > 0 and previous[1:] == pair[0]
        counted = int(pair[-1] not in CHINESE_FUNCTION_CHARACTERS)
        run = 0 if not unseen else run + counted if goes_on else 1 + counted
        longest = max(longest, run)
        previous = pair
    return longest


@lru_cache(maxsize=4096)
def terms_of(text: str) -> frozenset[str]:
    """Bodies never change, and the same ones answer many questions."""
    return frozenset(terms(text))

"""Reads a text as sentences, content terms and values, in English, Chinese or both."""

import re
import unicodedata
from functools import lru_cache

import Stemmer

from holamem.text.sentences import split_sentences
from workspaces.judging.stopwords import CHINESE_FUNCTION_WORDS, ENGLISH_STOPWORDS

_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_CJK_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_LETTER = r"[^\W_\u3400-\u4dbf\u4e00-\u9fff]"
_WORD = re.compile(rf"{_LETTER}(?:[./:@#+'_-]{{0,3}}{_LETTER})*")
_NUMBER = re.compile(r"\d[\d,.:]*\d|\d")
_DAYS = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)[一二三四五六日天末]"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
    r"|\d+\s*月(?:\s*\d+\s*[日号]?)?"
)
_DAY = re.compile(_DAYS, re.IGNORECASE)
_FUNCTION_WORD = re.compile("|".join(sorted(CHINESE_FUNCTION_WORDS, key=len, reverse=True)))
_PUNCTUATION = str.maketrans({"’": "'", "‘": "'", "＇": "'"})
# NFKC would turn Chinese marks into ASCII ones, and the clause ends with them.
_FOLDABLE = re.compile(r"[^，。！？：；（）、…]+")
_STEMMER = Stemmer.Stemmer("english")


def flat(text: str) -> str:
    """White space joined to single spaces, nothing else changed."""
    return " ".join(text.split())


# A judgement reads the same few lines many times over, and the leaves that it compares with again.
READINGS_KEPT = 2048


@lru_cache(maxsize=READINGS_KEPT)
def cleaned(text: str) -> str:
    """Fold compatibility forms and apostrophes, join white space; Chinese punctuation stays."""
    folded = _FOLDABLE.sub(lambda run: unicodedata.normalize("NFKC", run.group()), text)
    return " ".join(folded.translate(_PUNCTUATION).split())


def is_chinese(text: str) -> bool:
    """True when at least two characters are Chinese, whatever else the text holds."""
    return len(_CJK.findall(text)) >= 2


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped; empty ones are left out."""
    return list(_sentences(text))


@lru_cache(maxsize=READINGS_KEPT // 4)
def _sentences(text: str) -> tuple[str, ...]:
    spans = (text[span.start : span.end].strip() for span in split_sentences(text))
    return tuple(sentence for sentence in spans if sentence)


@lru_cache(maxsize=4096)
def content_terms(text: str) -> frozenset[str]:
    """Stemmed content words, plus character pairs of each Chinese run; no bare numbers."""
    folded = cleaned(text).lower()
    return frozenset(_latin_terms(folded) | _chinese_terms(folded))


def _latin_terms(folded: str) -> set[str]:
    found = (match.group().strip(".:-'") for match in _WORD.finditer(folded))
    kept = (word.removesuffix("'s") for word in found)
    return {
        _STEMMER.stemWord(word)
        for word in kept
        if word not in ENGLISH_STOPWORDS and any(character.isalpha() for character in word)
    }


def _chinese_terms(folded: str) -> set[str]:
    runs = _CJK_RUN.findall(_FUNCTION_WORD.sub(" ", _DAY.sub(" ", folded)))
    pairs = {run[i : i + 2] for run in runs for i in range(len(run) - 1)}
    return pairs | {run for run in runs if len(run) == 1}


@lru_cache(maxsize=4096)
def values(text: str) -> frozenset[str]:
    """What a statement may change without changing its subject: numbers, days and months."""
    folded = cleaned(text).lower()
    numbers = {match.group().rstrip(".:,") for match in _NUMBER.finditer(folded)}
    days = {re.sub(r"\s", "", match.group()) for match in _DAY.finditer(folded)}
    return frozenset(numbers | days)


def likeness(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard similarity, 0..1; two empty sets are 0."""
    union = left | right
    return len(left & right) / len(union) if union else 0.0

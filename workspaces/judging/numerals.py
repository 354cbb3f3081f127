"""Numbers as words: "ninety seconds" and "90 seconds", 三千人 and 3000人 are the same."""

import re
import unicodedata

_SEPARATED_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_DIGITS = re.compile(r"\d+")
_UNIT_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TEN_WORDS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_UNITS = {word: value for value, word in enumerate(_UNIT_WORDS)}
_TENS = {word: 20 + 10 * place for place, word in enumerate(_TEN_WORDS)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_ENGLISH_WORD = re.compile(r"[a-z]+")
_HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {
    "两": 2,
    "〇": 0,
}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000}
_HAN_GROUPS = {"万": 10_000, "亿": 100_000_000}
_HAN_NUMBER = re.compile(r"[零〇一二两三四五六七八九十百千万亿]+")


def numbers_in(text: str) -> set[str]:
    """Every number, in digits of any width or in words, without separators and leading zeros."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = _SEPARATED_THOUSANDS.sub("", folded)
    digits = {run.lstrip("0") or "0" for run in _DIGITS.findall(plain)}
    return digits | _english(folded) | _chinese(folded)


def _english(text: str) -> set[str]:
    found: set[str] = set()
    total, current, is_open = 0, 0, False
    for word in [*_ENGLISH_WORD.findall(text), ""]:
        if word in _UNITS or word in _TENS:
            current += _UNITS.get(word, 0) + _TENS.get(word, 0)
            is_open = True
        elif word in _SCALES and is_open:
            current *= _SCALES[word]
            total, current = (total, current) if word == "hundred" else (total + current, 0)
        elif not (word == "and" and is_open):
            found |= {str(total + current)} if is_open else set()
            total, current, is_open = 0, 0, False
    return found


def _chinese(text: str) -> set[str]:
    return {
        str(value) for run in _HAN_NUMBER.findall(text) if (value := _han_value(run)) is not None
    }


def _han_value(run: str) -> int | None:
    """None for what is no number: 万一, 千万 as a word of warning, a row of digits."""
    total, section, digit = 0, 0, None
    for character in run:
        if character in _HAN_DIGITS:
            if digit:
                return None
            digit = _HAN_DIGITS[character]
        elif character in _HAN_SCALES:
            if digit is None and (section or character != "十"):
                return None
            section += (1 if digit is None else digit) * _HAN_SCALES[character]
            digit = None
        else:
            section += digit or 0
            if not section:
                return None
            total, section, digit = (total + section) * _HAN_GROUPS[character], 0, None
    return total + section + (digit or 0)


_COUNTED = re.compile(
    rf"({_HAN_NUMBER.pattern})(?=个|次|天|周|月|年|岁|小时|分钟|秒|台|条|人|元|块|点|倍|位|名|份|张|家|公斤|公里|套|层|种|页)"
)


def in_digits(text: str) -> str:
    """五年 as 5年: only what is counted, so that 一起 and 三亚 stay words."""
    return _COUNTED.sub(_digits_of, text)


def _digits_of(match: re.Match[str]) -> str:
    value = _han_value(match[1])
    return match[1] if value is None else str(value)

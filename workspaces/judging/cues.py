"""The shape of one language's cues: what a sentence does, read from its surface."""

import re
from dataclasses import dataclass

Pattern = re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Cues:
    """Compiled patterns of one language; each is searched in a single cleaned sentence.

    The first group are acts that are not statements, the second is evidence for or
    against a lasting statement, the third concerns what an assistant says.
    """

    opening: Pattern
    laughter: Pattern
    question: Pattern
    thanks: Pattern
    acknowledgement: Pattern
    small_talk: Pattern
    plan: Pattern
    hypothetical: Pattern
    request: Pattern
    remember: Pattern

    decided: Pattern
    arranged: Pattern
    undecided: Pattern
    standing: Pattern
    preference: Pattern
    kin: Pattern
    first_person: Pattern
    named_subject: Pattern
    definite_subject: Pattern
    pointing_subject: Pattern
    attribute: Pattern
    dated: Pattern
    counted: Pattern
    feeling: Pattern
    passing: Pattern

    execution: Pattern
    no_claim: Pattern
    recalled: Pattern
    advice: Pattern


def compiled(pattern: str, *, flags: int = re.IGNORECASE) -> Pattern:
    """Compile a verbose-free pattern; case is ignored unless `flags` says otherwise."""
    return re.compile(pattern, flags)


def words(text: str) -> str:
    """Turn a whitespace-separated word list into the inside of an alternation."""
    return "|".join(re.escape(word).replace("_", " ") for word in text.split())

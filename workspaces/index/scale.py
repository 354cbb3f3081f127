"""What a process remembers of a large memory, so that a question need not count it again.

Small memories are counted with every question. In a large one the count alone would take longer
than the search (100,000 entries: 15 ms), and a word of every tenth entry brings more of them than
can be scored while somebody waits. What is remembered only spares work: a common word brings no
entry by itself, whether this process has met it before or not.
"""

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

# Counted exactly up to here, and every word brings what holds it.
LARGE_FROM = 10_000
# In a large memory a word of a larger share of the entries only adds to the score of those that
# another word brought.
COMMON_SHARE = 0.04
# By then it may have grown by a tenth; a rate that does so sooner has hours of memory behind it.
REMEMBERED_SECONDS = 300.0
REMEMBERED_MEMORIES = 256
REMEMBERED_WORDS = 2_048


@dataclass(frozen=True, slots=True)
class Scale:
    """Entries of the searched scopes, and their mean number of terms."""

    documents: int
    mean_length: float


@dataclass(slots=True)
class _Remembered:
    scale: Scale
    until: float
    common: dict[str, int] = field(default_factory=dict)


class Memories:
    """By workspace and scopes, the least recently used out first."""

    def __init__(self) -> None:
        self._known: OrderedDict[object, _Remembered] = OrderedDict()
        self._lock = Lock()

    def scale_of(self, key: object) -> Scale | None:
        """None for a small memory, for a new one, and for one that has to be counted again."""
        known = self._fresh(key)
        return None if known is None else known.scale

    def common_words(self, key: object, terms: Sequence[str]) -> dict[str, int]:
        """Those of the terms that are known to be common, with their document frequencies."""
        known = self._fresh(key)
        if known is None:
            return {}
        return {term: known.common[term] for term in terms if term in known.common}

    def learn(self, key: object, *, scale: Scale, frequencies: dict[str, int]) -> None:
        """After a search: what it counted, and which of its terms turned out to be common."""
        if scale.documents < LARGE_FROM:
            with self._lock:
                self._known.pop(key, None)
            return
        limit = scale.documents * COMMON_SHARE
        with self._lock:
            known = self._known.pop(key, None)
            if known is None or time.monotonic() >= known.until:
                known = _Remembered(scale, time.monotonic() + REMEMBERED_SECONDS)
            if len(known.common) < REMEMBERED_WORDS:
                known.common |= {term: n for term, n in frequencies.items() if n > limit}
            self._known[key] = known
            while len(self._known) > REMEMBERED_MEMORIES:
                self._known.popitem(last=False)

    def forget(self) -> None:
        """For tests, and after the index was made again."""
        with self._lock:
            self._known.clear()

    def _fresh(self, key: object) -> _Remembered | None:
        with self._lock:
            known = self._known.get(key)
            if known is None or time.monotonic() >= known.until:
                return None
            self._known.move_to_end(key)
            return known


memories = Memories()

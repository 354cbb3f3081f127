"""Pieces of a streamed answer as events: the first at once, the others grouped.

A commit for each token would be thousands of rows for a long answer, and more commits than a
session's log takes; a wait of a twentieth of a second is not seen.
"""

import re
import time
from collections.abc import Callable

from django.db.models import F, Value
from django.db.models.functions import Concat

from agents.events.append import append_event
from agents.models.runs import RunEvent
from agents.runner.handles import RunHandle
from agents.services.states import RunLost
from holamem import faults
from holamem.database.scope import workspace_scope
from holamem.text.secrets import mask_secrets

GROUP_SECONDS = 0.05
# A long answer is read slower than it is written: its groups grow to this.
LONGEST_GROUP_SECONDS = 0.25
GROWS_AFTER_SECONDS = 2.0
GROUP_CHARACTERS = 4_000
# A word that may be the beginning of a key is shown once all of it is there, and masked.
_MAYBE_KEY = re.compile(r"(?=[A-Za-z.:]*[\d_+/=-])[A-Za-z0-9_+/=.:-]+$|[A-Za-z]{20,}$", re.ASCII)
HELD_CHARACTERS = 4_000
CONTEXT_CHARACTERS = 80  # of what was shown: a key is known by its beginning, and by its label


class DeltaWriter:
    """Of one turn. `text` is what was committed so far. All of it in the run's own thread."""

    def __init__(self, handle: RunHandle, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._handle = handle
        self._clock = clock
        self._waiting = ""
        self._shown = ""
        self._due: float | None = None
        self._began: float | None = None

    def add(self, text: str) -> None:
        self._waiting += text
        if self._began is None:
            self._began = self._due = self._clock()
        elif self._due is None:
            self._due = self._clock() + self._group_seconds()

    def seconds_left(self) -> float | None:
        """Until the next commit is due; None: nothing waits."""
        return None if self._due is None else max(0.0, self._due - self._clock())

    def write_due(self) -> None:
        """Raises RunLost."""
        is_large = len(self._waiting) > GROUP_CHARACTERS
        if is_large or (self._due is not None and self._due <= self._clock()):
            self.write()

    def write(self, *, is_end: bool = False) -> None:
        """Commit what may be shown by now; at the end all of it. Raises RunLost."""
        ready, self._waiting = (self._waiting, "") if is_end else _ready_part(self._waiting)
        self._due = self._clock() + self._group_seconds() if self._waiting else None
        text = self._masked(ready)
        if text:
            self._commit(text)

    def _masked(self, ready: str) -> str:
        """The beginning of a key may be shown already; the rest of it is then masked all the same."""
        tail = self._shown[-CONTEXT_CHARACTERS:]
        masked = mask_secrets(tail + ready).text
        self._shown = tail + ready
        return masked[_common_length(tail, masked) :]

    def _group_seconds(self) -> float:
        age = self._clock() - (self._began or 0.0)
        return LONGEST_GROUP_SECONDS if age > GROWS_AFTER_SECONDS else GROUP_SECONDS

    def _commit(self, text: str) -> None:
        workspace, run = self._handle.workspace, self._handle.run
        faults.point("run.before_delta")
        with workspace_scope(workspace, self._handle.scopes):
            append_event(
                workspace,
                session=self._handle.session,
                type=RunEvent.Type.ASSISTANT_DELTA,
                payload={"text": text},
                run_id=run.id,
                turn_id=run.current_turn_id,
            )
            held = workspace.runs.filter(id=run.id, lease_token=run.lease_token)
            if held.update(streamed_text=Concat(F("streamed_text"), Value(text))) != 1:
                raise RunLost
        faults.point("run.after_delta")


def _common_length(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _ready_part(text: str) -> tuple[str, str]:
    """(what may be shown, what waits for the rest of its word)."""
    word = _MAYBE_KEY.search(text[-HELD_CHARACTERS:])
    if word is None:
        return text, ""
    at = len(text) - len(word.group())
    return (text, "") if len(word.group()) >= HELD_CHARACTERS else (text[:at], text[at:])

"""From which event on a client wants to hear."""

import re

from holamem.errors import InvalidInput

LAST_EVENT_ID = "Last-Event-ID"
_DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)


def known_seq(header: str, *, after: int, last: int) -> int:
    """The header's number when there is one, since it is newer than the address; else `after`.

    `last` is the session's newest. Raises InvalidInput for what is no number, or beyond the last.
    """
    field = "after"
    if header:
        field = LAST_EVENT_ID
        after = int(header) if _DIGITS.fullmatch(header) else -1
    if after < 0:
        raise InvalidInput("The number of an event is expected.", field=field)
    if after > last:
        raise InvalidInput(
            "The session has no event of this number.",
            field=field,
            detail={"code": "beyond_the_end"},
        )
    return after

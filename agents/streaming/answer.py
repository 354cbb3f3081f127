"""What a view answers with when a client follows a session."""

from collections.abc import Callable

from agents.streaming.follower import Follower
from agents.streaming.frames import RETRY, Source, read_frames
from agents.streaming.hub import TENANT_STREAMS, open_streams
from holamem.errors import LimitExceeded
from holamem.http.handover import EventStream


def follow_session(source: Source, *, after: int, is_admitted: Callable[[], bool]) -> EventStream:
    """The session's events after `after`, then live ones as they come, until the client goes.

    `is_admitted` is asked again every quarter of a minute, in a thread of its own: whether who
    follows still may. Raises LimitExceeded.
    """
    if open_streams(source.workspace.tenant_id) >= TENANT_STREAMS:
        raise LimitExceeded("Too many streams are open.")

    def beginning() -> bytes:
        return RETRY + b"".join(frame.data for frame in read_frames(source, after=after))

    return EventStream(Follower(source, seen=after, is_admitted=is_admitted), beginning)

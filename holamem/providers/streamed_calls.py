"""Tool calls of a streamed answer, put together from their pieces."""

from dataclasses import dataclass
from typing import Any

MAX_CALLS = 64  # of one answer
MAX_ARGUMENT_CHARACTERS = 400_000  # of all its calls
ID_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of the call at `position`; its name and arguments so far grow by these."""

    position: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """`id` is distinct in its answer; `arguments` is the JSON text as it came."""

    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


class CallCollector:
    """Pieces come by index; services that give none are understood by id, or by order."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._characters = 0
        self.has_too_many = False

    def add(self, pieces: Any) -> list[ToolCallDelta]:
        """What the pieces of one frame add; nothing for what is no list of calls."""
        if not isinstance(pieces, list):
            return []
        return [delta for piece in pieces if (delta := self._add(piece)) is not None]

    def _add(self, piece: Any) -> ToolCallDelta | None:
        position = self._position(piece)
        if position not in self._calls and len(self._calls) >= MAX_CALLS:
            self.has_too_many = True
        function = getattr(piece, "function", None)
        name, arguments = _text(function, "name"), _text(function, "arguments")
        self._characters += len(arguments)
        self.has_too_many = self.has_too_many or self._characters > MAX_ARGUMENT_CHARACTERS
        if self.has_too_many:
            return None
        call = self._calls.setdefault(position, _Call())
        call.id = call.id or _text(piece, "id")[:ID_CHARACTERS]
        if name != call.name:  # some services repeat it with every piece
            call.name += name
        call.arguments += arguments
        return ToolCallDelta(position, name, arguments)

    def _position(self, piece: Any) -> int:
        index = getattr(piece, "index", None)
        if isinstance(index, int) and not isinstance(index, bool):
            return index
        call_id = _text(piece, "id")
        for position, call in self._calls.items():
            if call_id and call.id == call_id:
                return position
        last = max(self._calls, default=-1)
        return last + 1 if call_id or last < 0 else last

    def calls(self) -> tuple[ToolRequest, ...]:
        """In order. An id that is missing or was given twice is replaced."""
        taken: set[str] = set()
        found = []
        for number, (_, call) in enumerate(sorted(self._calls.items())):
            call_id = call.id if call.id and call.id not in taken else f"call_{number}"
            while call_id in taken:
                call_id += "_"
            taken.add(call_id)
            found.append(ToolRequest(call_id, call.name, call.arguments))
        return tuple(found)


def _text(source: Any, name: str) -> str:
    """Without what a database refuses."""
    value = getattr(source, name, None)
    if not isinstance(value, str):
        return ""
    return value.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8", "ignore")

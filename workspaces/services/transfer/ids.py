"""Ids of an archive in the workspace that it goes into.

They stay as they are, unless rows with them are here already: then a few bits of each are
changed, all in the same way, so that they keep their order and what refers to what.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from workspaces.services.transfer.manifest import ArchiveRefused

# Of a UUIDv7 these bits are random; those before them hold time and order.
CHANGED_BITS = 32
DEPTH_MAX = 64
_PATTERN = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ID = re.compile(_PATTERN)
_SCOPE_LEXEME = re.compile("§([0-9a-f]{32})([0-9a-f]{32})")
_NAMED = re.compile(rf"([a-z_]+:)?({_PATTERN})")


@dataclass(slots=True)
class IdMap:
    """`source` and `target` are the workspaces; `known` are all ids of rows in the archive.

    Mutable: it is filled while the archive is looked through. Ids that are not known stay.
    """

    source: str
    target: str
    change: int = 0
    known: set[int] = field(default_factory=set)

    def learn(self, value: object) -> None:
        """The id of one row. Raises ArchiveRefused for what is no id, or came before."""
        number = UUID(value).int if isinstance(value, str) and _ID.fullmatch(value) else None
        if number is None or number in self.known or value == self.source:
            raise ArchiveRefused("The archive holds an id that is none, or one of them twice.")
        self.known.add(number)

    def id(self, value: str | None) -> str | None:
        """Raises ArchiveRefused for what is no id."""
        if value is None:
            return None
        if not isinstance(value, str) or _ID.fullmatch(value) is None:
            raise ArchiveRefused("The archive holds an id that is none.")
        return self._known(value)

    def _known(self, value: str) -> str:
        if value == self.source:
            return self.target
        number = UUID(value).int
        return str(UUID(int=number ^ self.change)) if number in self.known else value

    def text(self, value: str) -> str:
        """A text that is an id, or `kind:id`; every other text stays as it is."""
        match = _NAMED.fullmatch(value)
        return value if match is None else (match[1] or "") + self._known(match[2])

    def document(self, value: Any, *, depth: int = 0) -> Any:
        """The texts of a JSON document, wherever they stand in it. Raises ArchiveRefused."""
        if depth > DEPTH_MAX:
            raise ArchiveRefused("The archive holds a document that is nested too deeply.")
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.document(item, depth=depth + 1) for item in value]
        if isinstance(value, Mapping):
            return {name: self.document(item, depth=depth + 1) for name, item in value.items()}
        return value

    def lexemes(self, vector: str) -> str:
        """The lexemes that name workspace and scope: see `scope_lexeme`."""

        def mapped(match: re.Match[str]) -> str:
            return "§" + "".join(UUID(self._known(str(UUID(part)))).hex for part in match.groups())

        return _SCOPE_LEXEME.sub(mapped, vector)

    def citations(self, markdown: str) -> str:
        """The ids in square brackets with which statements of a summary end."""
        return re.sub(rf"\[({_PATTERN})\]", lambda match: f"[{self._known(match[1])}]", markdown)

"""The kinds of connectors there are, by name."""

from holamem.errors import InvalidInput
from workspaces.connectors.base import ConnectorKind
from workspaces.connectors.markdown_folder import MarkdownFolder

_kinds: dict[str, ConnectorKind] = {}


def register_kind(kind: ConnectorKind) -> None:
    """A later kind of the same name takes the place of the earlier one."""
    _kinds[kind.name] = kind


def kind_named(name: str) -> ConnectorKind:
    if name not in _kinds:
        raise InvalidInput(
            f"The kinds of integrations are {', '.join(kind_names())}.", field="kind"
        )
    return _kinds[name]


def kind_names() -> list[str]:
    return sorted(_kinds)


register_kind(MarkdownFolder())

"""Reading files whose content nobody vouches for: small, plain YAML without tricks, or refused."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

import yaml
from django.core.files.storage import FileSystemStorage

from workspaces.bodies import body_storage, read_bytes
from workspaces.services.front_matter import CHECKSUM, checksum_of

BODY_BYTES_MAX = 4 * 1024 * 1024
HEAD_BYTES_MAX = 512 * 1024  # metadata of an event may be large
DEPTH_MAX = 40
_OPEN, _CLOSE = b"---\n", b"\n---\n"
# libyaml's, which is fast and refuses what is not YAML 1.1.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Refused(ValueError):
    """This file is not what it should be; the message says why, without its content."""


def read_plain(path: str, *, max_bytes: int) -> bytes:
    """Raises Refused for what is no plain file below the root, or is too large; BodyMissing."""
    storage = body_storage()
    if isinstance(storage, FileSystemStorage):
        _check_plain(Path(storage.path(path)), root=Path(storage.base_location))
    if storage.size(path) > max_bytes:
        raise Refused("it is too large")
    return read_bytes(path)


def _check_plain(file: Path, *, root: Path) -> None:
    """A link could lead out of the root, or make one file two nodes."""
    status = os.lstat(file)
    if not stat.S_ISREG(status.st_mode):
        raise Refused("it is not a plain file")
    if not file.resolve().is_relative_to(root.resolve()):
        raise Refused("it lies outside the root")


def split_body(data: bytes) -> tuple[dict[str, object], str]:
    """The checked head and the markdown. Raises Refused."""
    end = data.find(_CLOSE, len(_OPEN) - 1)
    if not data.startswith(_OPEN) or end < 0:
        raise Refused("it has no front matter")
    head = load_document(data[len(_OPEN) : end + 1])
    try:
        markdown = data[end + len(_CLOSE) :].decode()
    except UnicodeDecodeError as error:
        raise Refused("it is not UTF-8") from error
    check_sum(head, markdown=markdown)
    return head, markdown


def load_document(data: bytes) -> dict[str, object]:
    """A mapping of plain values. No anchors, aliases, tags or deep nesting; raises Refused."""
    if len(data) > HEAD_BYTES_MAX:
        raise Refused("its head is too large")
    return load_mapping(data)


def load_mapping(data: bytes) -> dict[str, object]:
    try:
        _refuse_tricks(data)
        loaded = yaml.load(data, Loader=_Loader)  # noqa: S506 - a safe loader in both cases
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused("its YAML cannot be read") from error
    if not isinstance(loaded, dict):
        raise Refused("it is no mapping")
    _check_strings(loaded)
    return loaded


def _refuse_tricks(data: bytes) -> None:
    """On the stream of events, before anything is built: an alias may multiply without end."""
    depth = 0
    for event in yaml.parse(data, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise Refused("it uses YAML anchors")
        if isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None):
            raise Refused("it uses YAML tags")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH_MAX:
            raise Refused("it is nested too deeply")


def _check_strings(value: object) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str):
                raise Refused("a name in it is no text")
            _check_strings(name)
            _check_strings(item)
    elif isinstance(value, list):
        for item in value:
            _check_strings(item)
    elif isinstance(value, str) and "\0" in value:
        raise Refused("it holds NUL")


def check_sum(head: Mapping[str, object], *, markdown: str = "") -> None:
    """Raises Refused when head or text are not what was written."""
    try:
        actual = checksum_of(head, markdown=markdown)
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise Refused("its head holds values that were never written") from error
    if head.get(CHECKSUM) != actual:
        raise Refused("its checksum does not match")

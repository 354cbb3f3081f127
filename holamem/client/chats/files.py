"""Where exports lie: a file, a folder of session files, or the archive as it was downloaded."""

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from holamem.client.chats import chatgpt, claude, claude_code
from holamem.client.chats.messages import Found, UnreadableChats

CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json")
MAX_BYTES = 1024 * 1024 * 1024  # of one document, unpacked; exports of years have a tenth of it
MAX_MEMBERS = 100_000
MAX_RATIO = 200  # text packs to a tenth; what unpacks to far more is there to fill the memory
BYTE_ORDER_MARK = "\ufeff"


def read_chats(path: Path) -> Found:
    """Raises UnreadableChats. Lines and conversations that are none are counted."""
    found = Found()
    for name, raw in _documents(path):
        text = _decoded(raw, name=name)
        if name.endswith(".jsonl"):
            _read_lines(text, found=found)
        else:
            _read_document(text, name=name, found=found)
    return found


def _documents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents; nothing is unpacked to disk and no name from inside is used as a path."""
    try:
        if path.is_dir():
            yield from _in_folder(path)
        elif zipfile.is_zipfile(path):
            yield from _in_archive(path)
        else:
            yield path.name, _read_file(path)
    except OSError as error:
        raise UnreadableChats(f"{path} cannot be read: {error.strerror or error}.") from error


def _in_folder(path: Path) -> Iterator[tuple[str, bytes]]:
    wanted = sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and (file.suffix == ".jsonl" or CONVERSATIONS.fullmatch(file.name))
    )
    if not wanted:
        raise UnreadableChats(f"{path} holds no conversations.json and no session files.")
    for file in wanted:
        yield file.name, _read_file(file)


def _read_file(path: Path) -> bytes:
    if path.stat().st_size > MAX_BYTES:
        raise UnreadableChats(f"{path} is larger than {MAX_BYTES} bytes.")
    return path.read_bytes()


def _in_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive)
            if not members:
                raise UnreadableChats(f"{path} holds no conversations.json and no session files.")
            for member in members:
                yield PurePosixPath(member.filename).name, _unpacked(archive, member)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise UnreadableChats(f"{path} is no archive that can be read.") from error


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    if len(archive.infolist()) > MAX_MEMBERS:
        raise UnreadableChats(f"The archive has more than {MAX_MEMBERS} members.")
    return [
        member
        for member in archive.infolist()
        if not member.is_dir()
        and (
            member.filename.endswith(".jsonl")
            or CONVERSATIONS.fullmatch(PurePosixPath(member.filename).name)
        )
    ]


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """What a member says about its size is not believed: reading stops at the limit."""
    limit = min(MAX_BYTES, max(member.compress_size, 1) * MAX_RATIO)
    with archive.open(member) as stream:
        raw = stream.read(limit + 1)
    if len(raw) > limit:
        raise UnreadableChats("A member of the archive is too large, or packed too tightly.")
    return raw


def _decoded(raw: bytes, *, name: str) -> str:
    try:
        return raw.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        raise UnreadableChats(f"{name} is not UTF-8 text.") from error


def _read_document(text: str, *, name: str, found: Found) -> None:
    """`conversations.json`; one that holds lines instead is read as lines."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        if _first_line_is_one(text):
            _read_lines(text, found=found)
            return
        raise UnreadableChats(f"{name} is not JSON.") from error
    listed = data.get("conversations", [data]) if isinstance(data, dict) else data
    for item in listed if isinstance(listed, list) else [listed]:
        _read_conversation(item, found=found)


def _read_conversation(data: Any, *, found: Found) -> None:
    if chatgpt.is_conversation(data):
        chatgpt.read_conversation(data, found=found)
    elif claude.is_conversation(data):
        claude.read_conversation(data, found=found)
    elif claude_code.is_line(data):
        claude_code.read_line(data, found=found)
    else:
        found.left_out["not recognised"] += 1


def _first_line_is_one(text: str) -> bool:
    return claude_code.is_line(_loaded(text.partition("\n")[0]))


def _read_lines(text: str, *, found: Found) -> None:
    """A line that was cut off, as by a crash, costs that line only."""
    for line in text.split("\n"):
        if not line.strip():
            continue
        data = _loaded(line)
        if claude_code.is_line(data):
            claude_code.read_line(data, found=found)
        else:
            found.left_out["not recognised"] += 1


def _loaded(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None

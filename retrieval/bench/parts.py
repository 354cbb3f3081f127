"""What an app above adds to `manage.py bench`: one part each, once, when it is ready."""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from retrieval.bench.measures import Measure


@dataclass(frozen=True, slots=True)
class BenchPart:
    """`options` adds the part's own to its parser; `measure` gets all of them by name."""

    name: str
    help: str
    options: Callable[[ArgumentParser], None]
    measure: Callable[[dict[str, Any]], list[Measure]]


_parts: dict[str, BenchPart] = {}


def register_part(part: BenchPart) -> None:
    _parts[part.name] = part


def registered_parts() -> dict[str, BenchPart]:
    return dict(_parts)

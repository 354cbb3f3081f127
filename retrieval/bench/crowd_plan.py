"""`manage.py bench isolation`: its sizes and its options."""

from argparse import SUPPRESS, ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval.bench.measures import Measure
from retrieval.bench.parts import BenchPart, register_part


@dataclass(frozen=True, slots=True)
class CrowdPlan:
    """`leaves` of the measured and the flooding tenant; `leaves_of_others` of all others together."""

    leaves: int = 2_000
    fenced_leaves: int = 10_000
    others: int = 50
    leaves_of_others: int = 100_000
    limit: int = 10


def register() -> None:
    """Called once when the app is ready; what measures is imported when it is asked for."""
    register_part(BenchPart("isolation", "what tenants cost each other", _options, _measure))


def _options(parser: ArgumentParser) -> None:
    plan = CrowdPlan()
    parser.add_argument("--leaves", type=int, default=plan.leaves, help="of who is measured")
    parser.add_argument("--fenced-leaves", type=int, default=plan.fenced_leaves)
    parser.add_argument("--others", type=int, default=plan.others, help="other tenants")
    parser.add_argument("--leaves-of-others", type=int, default=plan.leaves_of_others)
    parser.add_argument("--limit", type=int, default=plan.limit, help="requests/s of who floods")
    parser.add_argument("--rounds", type=int, default=5, help="of the questions, for the fence")
    parser.add_argument("--data-dir", type=Path, help="filled once and kept; else a temporary one")
    parser.add_argument("--fill-only", action="store_true", help="measure nothing")
    parser.add_argument("--inside", choices=["alone", "among", "fence"], help=SUPPRESS)


def _measure(options: dict[str, Any]) -> list[Measure]:
    from retrieval.bench.isolation import measure_isolation

    return measure_isolation(options)

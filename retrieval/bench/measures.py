"""Numbers with their names and units, and the two ways of showing them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Measure:
    """One number; `name` is stable, so that two runs can be compared."""

    name: str
    value: float
    unit: str


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest rank: a value that was measured. Raises ValueError without values."""
    if not values:
        raise ValueError("There is nothing to take a percentile of.")
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def spread(name: str, values: Sequence[float], *, unit: str = "ms") -> list[Measure]:
    """Median and 95th percentile; nothing where nothing was measured."""
    if not values:
        return []
    return [
        Measure(f"{name}_p50", round(percentile(values, 0.50), 1), unit),
        Measure(f"{name}_p95", round(percentile(values, 0.95), 1), unit),
    ]


def as_table(measures: Sequence[Measure]) -> str:
    width = max((len(measure.name) for measure in measures), default=0)
    return "\n".join(
        f"{measure.name:<{width}}  {measure.value:>10g} {measure.unit}" for measure in measures
    )


def as_json(measures: Sequence[Measure]) -> dict[str, dict[str, float | str]]:
    return {measure.name: {"value": measure.value, "unit": measure.unit} for measure in measures}

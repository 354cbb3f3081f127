"""Numbers with their names and units, and the two ways of showing them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any


@dataclass(frozen=True, slots=True)
class Measure:
    """One number; `name` is stable, so that two runs can be compared.

    `at_least` and `at_most` are what it should be, where there is a target.
    """

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def is_missed(self) -> bool:
        too_small = self.at_least is not None and self.value < self.at_least
        return too_small or (self.at_most is not None and self.value > self.at_most)

    @property
    def target(self) -> str:
        """Empty where there is none."""
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return f"<= {self.at_most:g}" if self.at_most is not None else ""


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
        f"{measure.name:<{width}}  {measure.value:>10g} {measure.unit}{_verdict(measure)}"
        for measure in measures
    )


def _verdict(measure: Measure) -> str:
    if not measure.target:
        return ""
    return f"  {measure.target}  {'MISSED' if measure.is_missed else 'met'}"


def as_json(measures: Sequence[Measure]) -> dict[str, dict[str, Any]]:
    """With `target` and `met` where there is a target."""
    return {
        measure.name: {
            "value": measure.value,
            "unit": measure.unit,
            **({"target": measure.target, "met": not measure.is_missed} if measure.target else {}),
        }
        for measure in measures
    }


def from_json(shown: Mapping[str, Mapping[str, Any]]) -> list[Measure]:
    """What another process of the same version has measured."""
    measures = []
    for name, item in shown.items():
        sign, _, number = str(item.get("target", "")).partition(" ")
        measures.append(
            Measure(
                name,
                item["value"],
                item["unit"],
                at_least=float(number) if sign == ">=" else None,
                at_most=float(number) if sign == "<=" else None,
            )
        )
    return measures

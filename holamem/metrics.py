"""Numbers for whoever operates an installation: registered where they arise, read at a scrape.

Of this process, and of the database for the gauges; none names a tenant.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

registry = CollectorRegistry()

Values = Iterable[tuple[tuple[str, ...], float]]


@dataclass(frozen=True, slots=True)
class Gauge:
    """`read` gives values by their labels, at each scrape; it opens its own database step."""

    name: str
    help: str
    labels: tuple[str, ...]
    read: Callable[[], Values]


_gauges: dict[str, Gauge] = {}


def register_gauge(gauge: Gauge) -> None:
    _gauges[gauge.name] = gauge


def stage_histogram(name: str, help_text: str) -> Callable[[Mapping[str, float]], None]:
    """A histogram of milliseconds by stage, and the function that takes them."""
    stages = Histogram(name, help_text, ["stage"], buckets=BUCKETS, registry=registry)

    def observe(timings_ms: Mapping[str, float]) -> None:
        for stage, spent in timings_ms.items():
            stages.labels(stage).observe(spent / 1000)

    return observe


class _Gauges(Collector):
    def collect(self) -> Iterator[Metric]:
        for gauge in _gauges.values():
            family = GaugeMetricFamily(gauge.name, gauge.help, labels=gauge.labels)
            for labels, value in gauge.read():
                family.add_metric(labels, value)
            yield family

    def describe(self) -> list[Metric]:
        return []  # else the registry would read the database when it is made


registry.register(_Gauges())

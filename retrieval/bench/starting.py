"""How long it takes from nothing to a server that answers, and the second time."""

from retrieval.bench.measures import Measure
from retrieval.bench.server import start, temporary_data_dir


def measure_up() -> list[Measure]:
    """Without the sample: the database is made, migrated and filled with a tenant."""
    with temporary_data_dir() as data_dir:
        first = start(data_dir, sample="none")
        first_stop = first.stop()
        second = start(data_dir, sample="none")
        second.stop()
    return [
        Measure("first_start", round(first.ready_seconds, 2), "s"),
        Measure("second_start", round(second.ready_seconds, 2), "s"),
        Measure("stop", round(first_stop, 2), "s"),
    ]

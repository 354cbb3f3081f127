"""The parts of `manage.py bench` that measure agents."""

from argparse import SUPPRESS, ArgumentParser
from typing import Any

from retrieval.bench.measures import Measure
from retrieval.bench.parts import BenchPart, register_part


def register() -> None:
    """Called once when the app is ready; what measures is imported when it is asked for."""
    register_part(
        BenchPart("streams", "clients that follow a session's events", _stream_options, _streams)
    )
    register_part(
        BenchPart(
            "text-memory",
            "a week's prompts: index and topics on demand, against everything in each",
            _week_options,
            _text_memory,
        )
    )
    register_part(
        BenchPart("pages", "each list page of the dashboard and the admin", _page_options, _pages)
    )


def _stream_options(parser: ArgumentParser) -> None:
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--per-second", type=float, default=10)
    parser.add_argument("--replayed", type=int, default=10_000)


def _streams(options: dict[str, Any]) -> list[Measure]:
    from agents.bench.streams import Plan, measure_streams
    from retrieval.bench.server import own_server

    names = ("streams", "seconds", "per_second", "replayed")
    with own_server(sample="none") as target:
        return measure_streams(target, plan=Plan(**{name: options[name] for name in names}))


def _week_options(parser: ArgumentParser) -> None:
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=4, help="of each session")


def _text_memory(options: dict[str, Any]) -> list[Measure]:
    from agents.bench.text_memory import play_week

    found = []
    for shape, by_place in (("24_topics", False), ("72_topics", True)):
        cost = play_week(sessions=options["sessions"], turns=options["turns"], by_place=by_place)
        found += [
            Measure(f"{shape}_requests", cost.requests, "of a model"),
            Measure(f"{shape}_index_in_each", cost.index, "tokens"),
            Measure(f"{shape}_on_demand", cost.read, "tokens"),
            Measure(f"{shape}_everything_in_each", cost.everything, "tokens"),
            Measure(f"{shape}_share", round(100 * cost.share, 1), "%", at_most=25),
            Measure(f"{shape}_facts_missed", cost.asked - cost.reached, "facts", at_most=0),
        ]
    return found


def _page_options(parser: ArgumentParser) -> None:
    parser.add_argument("--leaves", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20, help="requests of each page")
    parser.add_argument("--inside", action="store_true", help=SUPPRESS)


def _pages(options: dict[str, Any]) -> list[Measure]:
    from agents.bench.pages import measure_pages
    from retrieval.bench.alone import measure_alone

    leaves, rounds = options["leaves"], options["rounds"]
    if options["inside"]:
        return measure_pages(leaves=leaves, rounds=rounds)
    return measure_alone(["pages", "--json", "--leaves", str(leaves), "--rounds", str(rounds)])

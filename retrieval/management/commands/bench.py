"""`manage.py bench`: measure this machine. Without --url it starts a server of its own."""

import json
import os
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from django.core.management.base import BaseCommand, CommandError

from holamem.environment import get_environment
from holamem.errors import NotFound
from holamem.sample.loader import SampleFailed
from retrieval.bench.alone import measure_alone
from retrieval.bench.asking import measure_retrieve, measure_statements, sample_questions
from retrieval.bench.broad import NAME as BROAD
from retrieval.bench.broad import measure_broad
from retrieval.bench.cost import measure_cost
from retrieval.bench.datasets import SETS, Conversation, NoSuchData, load
from retrieval.bench.erasing import measure_erase
from retrieval.bench.growing import measure_seal
from retrieval.bench.ingest import measure_ingest
from retrieval.bench.measures import Measure, as_json, as_table
from retrieval.bench.parts import registered_parts
from retrieval.bench.recall import ask_all
from retrieval.bench.recall_report import as_grid, measures_of
from retrieval.bench.server import DidNotStart, Target, own_server
from retrieval.bench.starting import measure_up
from retrieval.bench.writing import measure_write
from workspaces.services.operators import find_workspaces


class Command(BaseCommand):
    help = "Measure how fast this machine takes events, answers questions and starts."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="part", required=True)
        ingest = parts.add_parser("ingest", help="acknowledge and time until findable")
        ingest.add_argument("--seconds", type=float, default=30)
        ingest.add_argument("--per-second", type=float, default=10)
        retrieve = parts.add_parser("retrieve", help="answers on the sample")
        retrieve.add_argument("--rounds", type=int, default=5)
        retrieve.add_argument("--sample", choices=["both", "en", "zh", "none"], default="both")
        statements = parts.add_parser("statements", help="SQL statements, on the set database")
        statements.add_argument("--tenant", help="slug; needed where two have such a workspace")
        write = parts.add_parser("write", help="events to memory, against the embedder alone")
        write.add_argument("--texts", type=int, default=240, help="with the packaged model")
        write.add_argument("--events", type=int, default=10_000, help="without vectors")
        seal = parts.add_parser("seal", help="what each leaf costs a tree that grows")
        seal.add_argument("--leaves", type=int, default=10_000)
        erase = parts.add_parser("erase", help="leaves below three levels of summaries")
        erase.add_argument("--leaves", type=int, default=60)
        erase.add_argument("--erasures", type=int, default=20)
        cost = parts.add_parser("cost", help="questions to memories of each size up to --leaves")
        cost.add_argument("--leaves", type=int, default=100_000)
        cost.add_argument("--others", type=int, default=200, help="workspaces beside it")
        cost.add_argument("--rounds", type=int, default=5)
        recall = parts.add_parser("recall", help="evidence found on public conversations")
        recall.add_argument("--data", help="folder of the data sets; else HOLAMEM_BENCH_DATA")
        recall.add_argument("--sets", default=",".join([*SETS, BROAD]), help="with commas")
        recall.add_argument("--conversations", help="their names, with commas; else all")
        for part in (write, seal, erase, cost):
            part.add_argument("--inside", action="store_true", help=SUPPRESS)
        up = parts.add_parser("up", help="first and second start")
        for part in (ingest, retrieve, recall):
            part.add_argument("--url", help="a running server, in place of one of our own")
            part.add_argument("--key")
        for part in (retrieve, statements):
            part.add_argument("--questions", type=int, help="at most so many of the sample's")
        for part in (ingest, retrieve, statements, recall):
            part.add_argument("--workspace", required=part is statements)
        for part in (ingest, retrieve, recall, statements, write, seal, erase, cost, up):
            part.add_argument("--json", action="store_true", dest="as_json")
        for name, added in registered_parts().items():
            own = parts.add_parser(name, help=added.help)
            added.options(own)
            own.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            measures = _measure_of(options["part"])(options)
        except (DidNotStart, NoSuchData, SampleFailed, httpx2.HTTPError) as error:
            raise CommandError(str(error)) from error
        except NotFound as error:
            raise CommandError(error.message) from error
        table = as_grid if options["part"] == "recall" else as_table
        shown = json.dumps(as_json(measures)) if options["as_json"] else table(measures)
        self.stdout.write(shown)
        missed = [measure.name for measure in measures if measure.is_missed]
        if missed and not options.get("inside"):
            raise CommandError(f"Missed: {', '.join(missed)}.")


def _measure_of(name: str) -> Callable[[dict[str, Any]], list[Measure]]:
    added = registered_parts()
    return added[name].measure if name in added else _PARTS[name]


@contextmanager
def _target(options: dict[str, Any], *, sample: str) -> Iterator[Target]:
    given = [options["url"], options["key"], options["workspace"]]
    if any(given) and not all(given):
        raise CommandError("--url, --key and --workspace belong together.")
    if all(given):
        yield Target(*given)
        return
    with own_server(sample=sample) as target:
        yield target


def _ingest(options: dict[str, Any]) -> list[Measure]:
    with _target(options, sample="none") as target:
        return measure_ingest(target, seconds=options["seconds"], per_second=options["per_second"])


def _retrieve(options: dict[str, Any]) -> list[Measure]:
    asked = sample_questions(options["questions"])
    with _target(options, sample=options["sample"]) as target:
        return measure_retrieve(target, asked=asked, rounds=options["rounds"])


def _recall(options: dict[str, Any]) -> list[Measure]:
    names = options["sets"].split(",")
    unknown = set(names) - {*SETS, BROAD}
    if unknown:
        raise CommandError(f"There is no such set: {', '.join(sorted(unknown))}.")
    told = {name: _conversations(name, options) for name in names if name != BROAD}
    with _target(options, sample="none") as target:
        measures: list[Measure] = []
        for name, (conversations, is_whole) in told.items():
            outcome = ask_all(target, conversations=conversations)
            measures += measures_of(name, outcome, is_whole=is_whole)
        return [*measures, *(measure_broad(target) if BROAD in names else ())]


def _conversations(name: str, options: dict[str, Any]) -> tuple[list[Conversation], bool]:
    """Those that are asked for, and whether they are the whole set."""
    folder = options["data"] or os.environ.get("HOLAMEM_BENCH_DATA")
    if not folder:
        raise CommandError("--data or HOLAMEM_BENCH_DATA has to name the folder of the data sets.")
    whole = load(name, data=Path(folder))
    wanted = options["conversations"]
    told = whole if wanted is None else [c for c in whole if c.name in wanted.split(",")]
    if not told:
        raise CommandError(f"{name} has no such conversation.")
    return told, len(told) == len(whole)


def _statements(options: dict[str, Any]) -> list[Measure]:
    if not get_environment().database_url:
        raise CommandError("HOLAMEM_DATABASE_URL has to name the database that is measured.")
    [workspace, *others] = find_workspaces(tenant=options["tenant"], slug=options["workspace"])
    if others:
        raise CommandError("Several tenants have such a workspace; name one with --tenant.")
    return measure_statements(workspace, asked=sample_questions(options["questions"]))


def _write(options: dict[str, Any]) -> list[Measure]:
    texts, events = options["texts"], options["events"]
    if options["inside"]:
        return measure_write(texts=texts, events=events)
    return measure_alone(["write", "--json", "--texts", str(texts), "--events", str(events)])


def _seal(options: dict[str, Any]) -> list[Measure]:
    if options["inside"]:
        return measure_seal(leaves=options["leaves"])
    return measure_alone(["seal", "--json", "--leaves", str(options["leaves"])])


def _erase(options: dict[str, Any]) -> list[Measure]:
    leaves, erasures = options["leaves"], options["erasures"]
    if options["inside"]:
        return measure_erase(leaves=leaves, erasures=erasures)
    sizes = ["--leaves", str(leaves), "--erasures", str(erasures)]
    return measure_alone(["erase", "--json", *sizes])


def _cost(options: dict[str, Any]) -> list[Measure]:
    leaves, others, rounds = options["leaves"], options["others"], options["rounds"]
    if options["inside"]:
        return measure_cost(leaves=leaves, others=others, rounds=rounds)
    sizes = ["--leaves", str(leaves), "--others", str(others), "--rounds", str(rounds)]
    return measure_alone(["cost", "--json", *sizes])


_PARTS: dict[str, Callable[[dict[str, Any]], list[Measure]]] = {
    "ingest": _ingest,
    "retrieve": _retrieve,
    "recall": _recall,
    "statements": _statements,
    "write": _write,
    "seal": _seal,
    "erase": _erase,
    "cost": _cost,
    "up": lambda options: measure_up(),
}

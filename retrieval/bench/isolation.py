"""What tenants cost each other: row-level security, a flood beside them, and many others."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holamem.database.embedded import EmbeddedServer
from holamem.environment import PROJECT_DIR
from retrieval.bench.asking import sample_questions
from retrieval.bench.crowd import (
    SLUG,
    Keys,
    as_words,
    fenced_workspace,
    fill_crowd,
    keys_of,
)
from retrieval.bench.crowd_plan import CrowdPlan
from retrieval.bench.fence import measure_fence
from retrieval.bench.measures import Measure, from_json, percentile
from retrieval.bench.pacing import Pace, Told, ask_at_pace, processes
from retrieval.bench.server import DidNotStart, start, temporary_data_dir

PATH = f"/api/v1/workspaces/{SLUG}/memory/retrieve"
ASKED_PER_SECOND = 50.0
ASKED_SECONDS = 20.0
MOST_P95_MS = 150.0
CALM_PER_SECOND = 5.0  # of the tenant that is flooded
SLICE_SECONDS = 12.0
BURST_SECONDS = 6.0  # until the flooding tenant has used up what it saved, and a little more
SLICES = 3
FLOOD_OF_LIMIT = 10
MOST_OF_QUIET = 2.0


def measure_isolation(options: dict[str, Any]) -> list[Measure]:
    plan = CrowdPlan(
        leaves=options["leaves"],
        fenced_leaves=options["fenced_leaves"],
        others=options["others"],
        leaves_of_others=options["leaves_of_others"],
        limit=options["limit"],
    )
    if options["inside"] == "fence":
        return measure_fence(fenced_workspace(), rounds=options["rounds"])
    if options["inside"]:
        keys = fill_crowd(plan, with_others=options["inside"] == "among")
        sys.stderr.write(as_words(keys))
        return []
    with _data_dir(options["data_dir"]) as data_dir:
        return _outside(data_dir, plan=plan, options=options)


@contextmanager
def _data_dir(given: Path | None) -> Iterator[Path]:
    if given is None:
        with temporary_data_dir() as made:
            yield made
        return
    given.mkdir(mode=0o711, parents=True, exist_ok=True)
    yield given


def _outside(data_dir: Path, *, plan: CrowdPlan, options: dict[str, Any]) -> list[Measure]:
    """First beside one other tenant, then among all; a kept directory has all from the start."""
    is_kept = options["data_dir"] is not None
    started = start(data_dir, sample="none")
    url = started.target.url
    try:
        keys = _filled(data_dir, plan=plan, among=is_kept)
        if options["fill_only"]:
            return []
        fence = _fence(data_dir, rounds=options["rounds"])
        _ask_once(url, keys)
        first = _steady(url, keys, name="among_others" if is_kept and plan.others else "alone")
        flood = _flood(url, keys, plan=plan)
        if is_kept:
            return [*fence, *first, *flood]
        keys = _filled(data_dir, plan=plan, among=True)
        _ask_once(url, keys)
        return [*fence, *first, *flood, *_steady(url, keys, name="among_others")]
    finally:
        started.stop()


def _filled(data_dir: Path, *, plan: CrowdPlan, among: bool) -> Keys:
    sizes = [
        word
        for name, value in asdict(plan).items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    inside = ["--inside", "among" if among else "alone"]
    return keys_of(_manage(data_dir, [*sizes, *inside]).stderr.splitlines()[-1])


def _fence(data_dir: Path, *, rounds: int) -> list[Measure]:
    words = ["--inside", "fence", "--rounds", str(rounds), "--json"]
    return from_json(json.loads(_manage(data_dir, words).stdout))


def _manage(data_dir: Path, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(PROJECT_DIR / "manage.py"), "bench", "isolation", *words]
    environment = {
        **os.environ,
        "HOLAMEM_DATA_DIR": str(data_dir),
        "HOLAMEM_DATABASE_URL": EmbeddedServer(data_dir).url(),
        "HOLAMEM_LOG_LEVEL": "ERROR",
    }
    result = subprocess.run(  # noqa: S603 - our own command
        command, env=environment, check=False, capture_output=True, text=True
    )
    if result.returncode:
        raise DidNotStart(result.stderr[-2000:])
    return result


def _ask_once(url: str, keys: Keys) -> None:
    """The server remembers the vectors of questions from now on."""
    questions = sample_questions()
    for token in (keys.measured, keys.flooding):
        pace = Pace(url, PATH, token, per_second=4, seconds=len(questions) / 4)
        ask_at_pace(pace, questions)


def _steady(url: str, keys: Keys, *, name: str) -> list[Measure]:
    pace = Pace(url, PATH, keys.measured, ASKED_PER_SECOND, ASKED_SECONDS)
    with processes(1) as asker:
        told = asker.submit(ask_at_pace, pace, sample_questions()).result()
    return [
        Measure(f"{name}_answered", round(len(told.millis) / told.seconds, 1), "1/s"),
        Measure(f"{name}_p50", _percentile(told, 0.5), "ms"),
        Measure(f"{name}_p95", _percentile(told, 0.95), "ms", at_most=MOST_P95_MS),
    ]


def _flood(url: str, keys: Keys, *, plan: CrowdPlan) -> list[Measure]:
    """Slices of quiet and of flood in turn."""
    calm = Pace(url, PATH, keys.measured, CALM_PER_SECOND, SLICE_SECONDS)
    slice_seconds = BURST_SECONDS + SLICE_SECONDS
    loud = Pace(
        url,
        PATH,
        keys.flooding,
        FLOOD_OF_LIMIT * plan.limit,
        slice_seconds,
        unmeasured=BURST_SECONDS,
    )
    late = Pace(url, PATH, keys.measured, CALM_PER_SECOND, slice_seconds, unmeasured=BURST_SECONDS)
    quiet, flooded, floods = [], [], []
    with processes(2) as askers:
        for _ in range(SLICES):
            quiet.append(askers.submit(ask_at_pace, calm, sample_questions()).result())
            flood = askers.submit(ask_at_pace, loud, sample_questions())
            flooded.append(askers.submit(ask_at_pace, late, sample_questions()).result())
            floods.append(flood.result())
    return _of_flood(_joined(quiet), _joined(flooded), _joined(floods))


def _of_flood(quiet: Told, flooded: Told, flood: Told) -> list[Measure]:
    before, during = _percentile(quiet, 0.95), _percentile(flooded, 0.95)
    return [
        Measure("flood_sent", round(flood.per_second, 1), "1/s"),
        Measure("flood_admitted", round(len(flood.millis) / flood.seconds, 1), "1/s"),
        Measure("quiet_p50", _percentile(quiet, 0.5), "ms"),
        Measure("quiet_p95", before, "ms"),
        Measure("flooded_p50", _percentile(flooded, 0.5), "ms"),
        Measure("flooded_p95", during, "ms"),
        Measure("flooded_of_quiet", round(during / before, 2), "", at_most=MOST_OF_QUIET),
    ]


def _joined(parts: Sequence[Told]) -> Told:
    statuses: dict[int, int] = {}
    for part in parts:
        for status, count in part.statuses.items():
            statuses[status] = statuses.get(status, 0) + count
    return Told(
        [millis for part in parts for millis in part.millis],
        statuses,
        sum(part.seconds for part in parts),
    )


def _percentile(told: Told, share: float) -> float:
    return round(percentile(told.millis, share), 1)

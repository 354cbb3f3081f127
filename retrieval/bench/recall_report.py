"""What was asked of the data sets as measures, and as one table.

A measure is named `set | row | column`; the names are stable, so that two runs can be compared.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from retrieval.bench.measures import Measure
from retrieval.bench.recall import Outcome, Result, Verdict
from retrieval.bench.scoring import CUTS, area_under_curve

SEPARATOR = " | "
LEVELS = ("none", "low", "medium", "high")

# By set and row: column -> the least that is good enough, for a whole set. Those of LoCoMo and
# MADial are what the best plain baseline on the same data reached, or a little more.
TARGETS: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("locomo", "all"): {
        "R@10": 81,
        "nDCG@10": 61,
        "MRR": 58,
        "session H@1": 79,
        "session R@10": 95,
    },
    ("locomo", "multi-hop"): {"R@10": 45},
    ("locomo", "abstention"): {"AUC foreign": 0.97, "AUC left out": 0.66},
    ("madial-zh", "all"): {"R@10": 61},
    ("madial-en", "all"): {"R@10": 60},
}


def measures_of(name: str, outcome: Outcome, *, is_whole: bool) -> list[Measure]:
    """`is_whole`: all conversations of the set were asked, so that its targets apply."""
    measures = [*_rankings(name, outcome.results), *_abstention(name, outcome)]
    measures += _reliability(name, outcome)
    return [_with_target(measure) for measure in measures] if is_whole else measures


def measure(name: str, row: str, column: str, value: float, *, unit: str = "") -> Measure:
    return Measure(SEPARATOR.join([name, row, column]), value, unit)


def _with_target(found: Measure) -> Measure:
    name, row, column = found.name.split(SEPARATOR)
    least = TARGETS.get((name, row), {}).get(column)
    return Measure(found.name, found.value, found.unit, at_least=least)


def _rankings(name: str, results: Sequence[Result]) -> Iterator[Measure]:
    by_category: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_category[result.asked.category].append(result)
    yield from _ranking(name, "all", results)
    if len(by_category) > 1:
        for category, own in sorted(by_category.items()):
            yield from _ranking(name, category, own)


def _ranking(name: str, row: str, results: Sequence[Result]) -> Iterator[Measure]:
    scores = [result.scores for result in results]
    yield measure(name, row, "questions", len(results))
    for place, cut in enumerate(CUTS):
        yield _share(name, row, f"R@{cut}", (s.recall[place] for s in scores))
    yield _share(name, row, "MRR", (s.mrr for s in scores))
    yield _share(name, row, "nDCG@10", (s.ndcg_10 for s in scores))
    yield _share(name, row, "session H@1", (s.session_hit_1 for s in scores))
    yield _share(name, row, "session R@10", (s.session_recall_10 for s in scores))
    yield measure(name, row, "tokens", round(fmean(r.verdict.tokens for r in results)))


def _share(name: str, row: str, column: str, values: Iterable[float]) -> Measure:
    return measure(name, row, column, round(100 * fmean(values), 1), unit="%")


def _abstention(name: str, outcome: Outcome) -> Iterator[Measure]:
    """How well coverage tells a memory that can answer from one that cannot."""
    for column, can, cannot in (
        ("foreign", outcome.own, outcome.foreign),
        ("left out", outcome.left_in, outcome.left_out),
    ):
        if can and cannot:
            area = area_under_curve([v.coverage for v in can], [v.coverage for v in cannot])
            yield measure(name, "abstention", f"{column} questions", len(cannot))
            yield measure(name, "abstention", f"AUC {column}", round(area, 3))


def _reliability(name: str, outcome: Outcome) -> Iterator[Measure]:
    """By level: how many questions got it, and how many of those memory could answer."""
    for kind, can, cannot in (
        ("foreign", outcome.own, outcome.foreign),
        ("left out", outcome.left_in, outcome.left_out),
    ):
        for level in LEVELS if can and cannot else ():
            good, bad = _count(can, level), _count(cannot, level)
            row = f"coverage {level}, against {kind}"
            yield measure(name, row, "questions at it", good + bad)
            if good + bad:
                share = round(100 * good / (good + bad), 1)
                yield measure(name, row, "answerable", share, unit="%")


def _count(verdicts: Sequence[Verdict], level: str) -> int:
    return sum(verdict.level == level for verdict in verdicts)


def as_grid(measures: Sequence[Measure]) -> str:
    """One line a row; a head line wherever the columns change."""
    rows: dict[tuple[str, str], dict[str, Measure]] = {}
    for found in measures:
        name, row, column = found.name.split(SEPARATOR)
        rows.setdefault((name, row), {})[column] = found
    wide = max(len(f"{name} {row}") for name, row in rows)
    lines: list[str] = []
    head: tuple[str, ...] = ()
    for (name, row), cells in rows.items():
        if not set(cells) <= set(head):
            head = tuple(cells)
            lines += ["", f"{'':<{wide}}  " + "  ".join(head)]
        shown = (_cell(cells.get(column), len(column)) for column in head)
        lines.append(f"{f'{name} {row}':<{wide}}  " + "  ".join(shown))
    return "\n".join(lines[1:])


def _cell(found: Measure | None, width: int) -> str:
    text = "" if found is None else f"{found.value:g}{'!' if found.is_missed else ''}"
    return f"{text:>{width}}"

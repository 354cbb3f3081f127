"""What text memory costs in prompts: its index in each, and topics when they are asked for.

A week of sessions is played with the index and the topics as they are stored, and the tokens are
counted: of the index that stands in every request, of each topic that was read, which stays in its
session, and of the calls that read it. Beside it, what the same requests cost with every topic in
each of them. The topic is chosen by the words of the question alone, as anybody would who has
only the index; when the fact is not in it, the next one is read, and paid for.

The memory is as large as the small team's of the source document after a year: some tens of
kilobytes. Its facts lie in two dozen topics, one a service, or in six dozen, one for each place
of a service: the second has the longer index, and the shorter topics.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from agents.hot.topics import index_line, shown_index, with_line
from holamem.text.segment import terms
from holamem.text.tokens import count_tokens

CALL_TOKENS = 30  # of the call that reads a topic, and the marks around its result
NEEDS_MEMORY = 0.7  # of the turns
MAX_READS = 3  # of one turn; then the fact counts as not reached

SERVICES = (
    ("grafana", "支付网关", "atlas gateway", "calendar sync", "日志平台", "invoice export"),
    ("search index", "消息队列", "mail relay", "badge printer", "监控告警", "payroll"),
    ("image store", "用户中心", "release train", "vpn", "风控引擎", "data lake"),
    ("feature flags", "订单系统", "status page", "dns", "数据仓库", "build farm"),
)
ASPECTS = (
    ("listens on port", "端口是"), ("keeps its logs for days:", "日志保留天数："),
    ("is owned by team", "负责团队编号"), ("runs version", "运行版本"),
    ("is backed up at hour", "备份时间点"), ("has replicas:", "副本数："),
    ("limits requests to", "限流阈值"), ("alerts after seconds:", "告警延迟秒数："),
    ("stores data in bucket", "数据存储桶编号"), ("restarts on weekday", "重启星期"),
    ("reads its settings from file", "配置文件编号"), ("was moved to rack", "迁移到机柜"),
)  # fmt: skip

ENVIRONMENTS = (("in production", "生产环境"), ("in staging", "预发环境"), ("in test", "测试环境"))


@dataclass(frozen=True, slots=True)
class Fact:
    topic: str
    text: str
    question: str


@dataclass(slots=True)
class Cost:
    """`read` are tokens of topics in all requests after they were read."""

    sessions: int = 0
    requests: int = 0
    index: int = 0
    read: int = 0
    everything: int = 0
    asked: int = 0
    reached: int = 0

    @property
    def share(self) -> float:
        return (self.index + self.read) / self.everything if self.everything else 0.0


@dataclass(slots=True)
class _Session:
    tokens: int = 0
    topics: set[str] = field(default_factory=set)


def facts(*, by_place: bool = False) -> list[Fact]:
    """Of each service three dozen, of some of the services in Chinese."""
    return [
        _fact(name, number=number, aspect=aspect, place=place, by_place=by_place)
        for name in (name for row in SERVICES for name in row)
        for number, (place, aspect) in enumerate(product(ENVIRONMENTS, ASPECTS))
    ]


def _fact(
    name: str, *, number: int, aspect: tuple[str, str], place: tuple[str, str], by_place: bool
) -> Fact:
    value = (len(name) * 37 + number * 101) % 9000 + 100
    if name.isascii():
        said = f"{name} {aspect[0]}"
        topic = f"{name} {place[0]}" if by_place else name
        return Fact(topic, f"{said} {value} {place[0]}.", f"{said} what {place[0]}?")
    said = f"{name}{place[1]}{aspect[1]}"
    topic = f"{name}{place[1]}" if by_place else name
    return Fact(topic, f"{said}{value}。", f"{said}多少？")


def play_week(
    *, sessions: int = 200, turns: int = 4, by_place: bool = False, seed: int = 7
) -> Cost:
    chosen = random.Random(seed)  # noqa: S311 - a script, not a secret
    known = facts(by_place=by_place)
    texts = _topics(known)
    index = _index(texts)
    cost = Cost(sessions=sessions)
    sizes = {name: count_tokens(text) for name, text in texts.items()}
    fixed = count_tokens(shown_index(index))
    for _ in range(sessions):
        session = _Session()
        # A session stays with a few subjects.
        subjects = chosen.sample(sorted(texts), 2)
        for _ in range(turns):
            fact = chosen.choice([one for one in known if one.topic in subjects])
            if chosen.random() < NEEDS_MEMORY:
                _answer(fact, session=session, index=index, texts=texts, cost=cost, fixed=fixed)
            cost.requests += 1
            cost.index += fixed
            cost.read += session.tokens
            cost.everything += sum(sizes.values())
    return cost


def _answer(
    fact: Fact,
    *,
    session: _Session,
    index: str,
    texts: dict[str, str],
    cost: Cost,
    fixed: int,
) -> None:
    """Read topics until one has the fact: a request more for each that is not there yet."""
    cost.asked += 1
    for name in list(_candidates(fact.question, index=index, names=list(texts)))[:MAX_READS]:
        if name not in session.topics:
            cost.requests += 1
            cost.index += fixed
            cost.read += session.tokens
            session.topics.add(name)
            session.tokens += count_tokens(texts[name]) + CALL_TOKENS
        if fact.text in texts[name]:
            cost.reached += 1
            return


def _candidates(question: str, *, index: str, names: Sequence[str]) -> Iterator[str]:
    """Topics by how many words of the question their index line has."""
    asked = set(terms(question))
    lines = dict(zip(names, index.splitlines(), strict=True))
    yield from sorted(names, key=lambda name: -len(asked & set(terms(lines[name]))))


def _topics(known: Sequence[Fact]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for fact in known:
        texts[fact.topic] = texts.get(fact.topic, "") + f"- {fact.text}\n"
    return texts


def _index(texts: dict[str, str]) -> str:
    index = ""
    for name in texts:
        summary = f"{name} 的配置与规则" if not name.isascii() else f"settings and rules of {name}"
        index = with_line(index, name=name, line=index_line(name=name, summary=summary))
    return index

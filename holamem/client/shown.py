"""Answers in words, for people at a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holamem.client.answers import Browsed, PackItem, Remembered, Retrieved
from holamem.client.chats.plan import ChatPreview
from holamem.client.chats.sending import ImportReport

SAMPLE_CHARACTERS = 100


def remembered(answer: Remembered) -> str:
    lines = [f"{answer.status}  {answer.event_id or ''}".rstrip()]
    lines += [
        f"  {chunk.outcome}  {chunk.tree_key or '-'}  {chunk.reason or ''}".rstrip()
        for chunk in answer.chunks
    ]
    return "\n".join([*lines, *([f"  {answer.error}"] if answer.error else [])])


def retrieved(answer: Retrieved) -> str:
    pack = answer.retrieval_pack
    parts = [
        [f"Coverage: {answer.coverage.level}"],
        list(_items("Known", pack.known_facts)),
        list(_items("Recent", pack.recent_high_signal_items)),
        list(_items("Constraints", pack.constraints)),
        list(_items("Blockers", pack.blockers)),
        list(_items("Open", pack.open_questions)),
        [f"Missing: {gap.question} ({gap.kind})" for gap in answer.gaps],
        [
            f"[{item.evidence_id}] {item.observed_at:%Y-%m-%d} {item.tree_key}: {item.title}"
            for item in answer.evidence
        ],
        [f"Next: {pack.recommended_next_step.type} - {pack.recommended_next_step.reason}"],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _items(title: str, items: Sequence[PackItem]) -> Iterator[str]:
    if items:
        yield f"{title}:"
    for item in items:
        yield f"  {item.text} [{', '.join(item.evidence_ids)}; {item.freshness}]"


def browsed(answer: Browsed) -> str:
    path = [_name(node) for node in answer.parents]
    here = [] if answer.node is None else [_name(answer.node)]
    lines = [" / ".join([*path, *here])] if path or here else []
    lines += list(_children(answer.children, indent=0))
    if answer.next_cursor:
        lines.append(f"more: --cursor {answer.next_cursor}")
    return "\n".join(lines) or "Nothing here yet."


def _children(nodes: Sequence[Mapping[str, Any]], *, indent: int) -> Iterator[str]:
    for node in nodes:
        yield f"{'  ' * indent}{_name(node)}"
        inner = node.get("children")
        yield from _children(inner if isinstance(inner, list) else (), indent=indent + 1)


def _name(node: Mapping[str, Any]) -> str:
    title = str(node.get("title") or node.get("key") or node.get("name") or "?")
    return f"{title}  ({node.get('node_id') or node.get('path') or node.get('kind') or ''})"


def preview(found: ChatPreview) -> str:
    span = "without times"
    if found.first_at is not None and found.last_at is not None:
        span = f"from {found.first_at:%Y-%m-%d} to {found.last_at:%Y-%m-%d}"
    lines = [
        f"{', '.join(found.formats)}: {found.conversations} conversations, {span}",
        f"Would be sent: {found.total} events, {found.characters} characters",
        *(f"  {count} {kind}" for kind, count in sorted(found.events.items())),
    ]
    if found.left_out:
        lines.append("Would be left out:")
        lines += [f"  {count} {reason}" for reason, count in found.left_out.items()]
    lines.append("The first ones:")
    lines += [f"  {event['kind']}: {_shortened(event['text'])}" for event in found.sample]
    return "\n".join([*lines, "Nothing was sent. Add --yes to send it."])


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SAMPLE_CHARACTERS else f"{line[:SAMPLE_CHARACTERS]}…"


def report(done: ImportReport) -> str:
    lines = [f"{done.events} events of {done.conversations} conversations are in memory's log."]
    lines += [f"refused {item.external_id}: {item.message}" for item in done.refused]
    return "\n".join(lines)

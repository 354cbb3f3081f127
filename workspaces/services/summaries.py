"""The text of a summary node: written by a judge from its children, checked, and stored."""

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime

from holamem.errors import MalformedReply
from holamem.text.languages import language_of
from workspaces.bodies import read_markdown, render_body
from workspaces.judging.base import ChildView, Judge, SummaryDraft
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree
from workspaces.services.front_matter import summary_front_matter, with_checksum
from workspaces.services.placement import SUMMARY_CHARACTERS, TITLE_CHARACTERS
from workspaces.services.seal_plan import Child, Step

TOKEN_BUDGET = 700
CITATION = re.compile(r"\[([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\]")
BULLET = re.compile(r"^\s*[-*] ")


def draft_summary(step: Step, *, judge: Judge) -> SummaryDraft:
    """Reads the children's bodies and asks the judge. Raises MalformedReply for a false citation."""
    views = [child_view(child) for child in step.children]
    draft = judge.summarise(tree_title=step.tree.title, children=views, token_budget=TOKEN_BUDGET)
    check_citations(draft.body, allowed={view.node_id for view in views})
    return draft


def child_view(child: Child) -> ChildView:
    """Without citations: those of a summary name its own children, and an id that stands in a
    leaf's brackets would look like one.
    """
    text = read_markdown(child.body_path, sha256=child.body_sha256)
    is_leaf = isinstance(child, SourceLeaf)
    return ChildView(
        node_id=str(child.id),
        kind="leaf" if is_leaf else "summary",
        title=child.title,
        text=CITATION.sub(r"\1", text) if is_leaf else without_citations(text),
        observed_at=child.observed_at,
    )


def check_citations(body: str, *, allowed: set[str]) -> None:
    """Every bullet cites at least one child and nothing else; there is at least one bullet."""
    bullets = [line for line in body.splitlines() if BULLET.match(line)]
    if not bullets:
        raise MalformedReply("The summary has no statement.")
    for line in bullets:
        cited = set(CITATION.findall(line))
        if not cited or not cited <= allowed:
            raise MalformedReply("The summary cites something that is not its child.")


def without_citations(body: str) -> str:
    """The statements as they are read, searched and embedded."""
    return "\n".join(CITATION.sub("", line).rstrip() for line in body.splitlines())


def build_node(step: Step, *, draft: SummaryDraft, node: SummaryNode, model: str) -> SummaryNode:
    """Fill an identified, placed node with the draft and what follows from its children."""
    starts = [time_range(child)[0] for child in step.children]
    ends = [time_range(child)[1] for child in step.children]
    node.title = draft.title[:TITLE_CHARACTERS] or step.tree.title[:TITLE_CHARACTERS]
    node.summary = without_citations(draft.summary)[:SUMMARY_CHARACTERS]
    node.labels = [label[:100] for label in draft.labels][:8]
    node.language = language_of(draft.body)
    node.model = model[:100]
    node.child_ids = [child.id for child in step.children]
    node.child_kind = (
        SummaryNode.ChildKind.LEAF
        if isinstance(step.children[0], SourceLeaf)
        else SummaryNode.ChildKind.SUMMARY
    )
    node.child_set_sha256 = child_set_sha256(step.children)
    node.leaf_count = sum(getattr(child, "leaf_count", 1) for child in step.children)
    node.time_range_start, node.time_range_end = min(starts), max(ends)
    node.observed_at = node.time_range_end
    return node


def time_range(child: Child) -> tuple[datetime, datetime]:
    if isinstance(child, SourceLeaf):
        return child.observed_at, child.observed_at
    return child.time_range_start, child.time_range_end


def child_set_sha256(children: Sequence[Child]) -> str:
    """sha256 over the sorted `id:body hash` lines: the stored child set is the one summarised."""
    lines = sorted(f"{child.id}:{child.body_sha256}" for child in children)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def summary_body(node: SummaryNode, *, tree: Tree, body: str) -> bytes:
    head = summary_front_matter(node, tree=tree)
    return render_body(with_checksum(head, markdown=body), body)

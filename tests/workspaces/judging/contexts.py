"""Short ways to make what a judge is asked about."""

from datetime import UTC, datetime

from workspaces.judging.base import ChildView, ChunkContext, EntityCandidate, LeafView

NOW = datetime(2026, 5, 20, 9, 30, tzinfo=UTC)


def chunk(
    text: str,
    *,
    kind: str = "user_message",
    actor: str = "user",
    succeeded: bool | None = None,
    has_evidence: bool = False,
    earlier: tuple[str, ...] = (),
    at: datetime = NOW,
) -> ChunkContext:
    return ChunkContext(
        text=text,
        kind=kind,
        actor=actor,
        language="en",
        occurred_at=at,
        session_ref="s-1",
        succeeded=succeeded,
        has_execution_evidence=has_evidence,
        earlier_user_texts=earlier,
        previous_turn=earlier[-1] if earlier else None,
        workspace_name="Team",
    )


def candidate(name: str, *, type: str = "system", aliases: tuple[str, ...] = ()) -> EntityCandidate:
    return EntityCandidate(f"id-{name}", type, name, aliases, "", 0.5)


def leaf(text: str, *, key: str = "", leaf_id: str = "leaf-1", at: datetime = NOW) -> LeafView:
    return LeafView(leaf_id, text, text[:40], key, at)


def child(node_id: str, text: str, *, kind: str = "leaf", at: datetime = NOW) -> ChildView:
    return ChildView(node_id, kind, text[:40], text, at)  # type: ignore[arg-type]

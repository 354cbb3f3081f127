"""How long a memory stays fresh, when to verify it, and how far to trust it."""

from collections.abc import Iterable
from dataclasses import dataclass

from workspaces.models.entities import Entity
from workspaces.models.log import Event
from workspaces.models.trees import SourceLeaf


@dataclass(frozen=True, slots=True)
class LeafPolicy:
    verification: str
    staleness: str
    stale_after_days: int | None


STABLE = LeafPolicy(SourceLeaf.VerificationPolicy.NONE, SourceLeaf.StalenessPolicy.STABLE, None)


def _decays(days: int) -> LeafPolicy:
    return LeafPolicy(
        SourceLeaf.VerificationPolicy.VERIFY_IF_STALE, SourceLeaf.StalenessPolicy.DECAYS, days
    )


# What people are and like changes rarely; what runs, and what a source says, changes by itself.
_BY_TYPE = {
    Entity.Type.PROJECT: _decays(180),
    Entity.Type.SYSTEM: _decays(180),
    Entity.Type.WORKFLOW: _decays(365),
    Entity.Type.CUSTOMER: _decays(365),
}
INTEGRATION = _decays(30)


def leaf_policy(entity_type: str | None) -> LeafPolicy:
    """By the type of the owning entity; None is the integration category."""
    if entity_type is None:
        return INTEGRATION
    return _BY_TYPE.get(Entity.Type(entity_type), STABLE)


# Least trusted first.
TRUST_ORDER = ("external", "assistant", "tool", "user", "accepted")
_TRUST_OF_KIND = {
    Event.Kind.ACCEPTED_PREFERENCE: "accepted",
    Event.Kind.ACCEPTED_IDENTITY: "accepted",
    Event.Kind.USER_MESSAGE: "user",
    Event.Kind.TOOL_RESULT: "tool",
    Event.Kind.DISTILLED_STATEMENT: "tool",
    Event.Kind.ASSISTANT_TURN: "assistant",
}


def trust_of(kind: str) -> str:
    return _TRUST_OF_KIND.get(Event.Kind(kind), "external")


def lowest_trust(values: Iterable[str]) -> str:
    """Trust never rises by being summarised. Empty input is a ValueError."""
    return min(values, key=TRUST_ORDER.index)

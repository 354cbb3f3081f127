"""Which candidates stand beside each other in a session.

Neighbours are looked up when a question is asked, in the stored order of the session's events:
no text is indexed under another leaf, so what is erased or forgotten leaves with its own entry.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from workspaces.index.search import FoundNode

Places = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """By place of a candidate: the places of the leaves of the turn before and of the one after.

    Empty where that turn is not among the candidates. A long turn may have several leaves.
    """

    before: tuple[Places, ...]
    after: tuple[Places, ...]

    def around(self, place: int) -> Places:
        return self.before[place] + self.after[place]


def surroundings_of(nodes: Sequence[FoundNode]) -> Surroundings:
    by_event: dict[UUID, list[int]] = defaultdict(list)
    for place, node in enumerate(nodes):
        if node.event_id is not None:
            by_event[node.event_id].append(place)

    def of(event_id: UUID | None) -> Places:
        return tuple(by_event.get(event_id, ())) if event_id is not None else ()

    return Surroundings(
        before=tuple(of(node.previous_event_id) for node in nodes),
        after=tuple(of(node.next_event_id) for node in nodes),
    )


def best_of(scores: Sequence[float], places: Places) -> float:
    """The best score of these places; 0 where there is none."""
    return max((scores[place] for place in places), default=0.0)

"""The shortlist of a judge that reads names and nothing else: all entities that a text may mean.

It is complete, where a search for similar leaves finds what happens to be near, and at a price
that grows with the memory. An entity is on it for a name, an alias, or a short form of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from holamem.database.prepared import fetch_rows
from holamem.database.scope import workspace_scope
from holamem.text.normalise import normalise_name
from workspaces.judging.base import EntityCandidate
from workspaces.judging.offline_assignment import spoken_forms
from workspaces.models.tenancy import Workspace
from workspaces.services.owner_reads import Owners, candidate, read_owners
from workspaces.services.placement import without_title
from workspaces.services.shortlist import EXACT_SIMILARITY, LEXICAL_SIMILARITY, MAX_SHORTLIST


@dataclass(frozen=True, slots=True)
class Said:
    """A chunk's text, and who said it: an entity may be meant by either."""

    text: str
    actor: str


# Whatever an entity may be called by holds a part of its stored name: the first or the last word
# that is not Chinese, or else the first two characters. All texts are looked through at once; who
# is meant in which of them is told from the few names that remain.
_NAMED = """
SELECT entity.id FROM workspaces_entity AS entity
 WHERE entity.workspace_id = %(workspace)s AND entity.scope_id = %(scope)s
   AND NOT entity.is_system AND EXISTS (
     SELECT 1 FROM unnest(entity.normalised_names) AS known (held)
      WHERE strpos(%(said)s, substring(held FROM '^[^ \u3400-\u9fff]+')) > 0
         OR strpos(%(said)s, substring(held FROM '[^ \u3400-\u9fff]+$')) > 0
         OR (held ~ '^[\u3400-\u9fff]' AND strpos(%(said)s, left(held, 2)) > 0))
"""


def called_in(
    workspace: Workspace, *, scope_id: UUID, said: Sequence[Said]
) -> tuple[list[list[EntityCandidate]], Owners]:
    """By text the entities that it may mean, those with a whole name in it first; and the owners."""
    heard = [f"{normalise_name(one.text)}\n{normalise_name(one.actor)}" for one in said]
    values = {"workspace": workspace.pk, "scope": scope_id, "said": "\n".join(heard)}
    with workspace_scope(workspace, [scope_id]):
        ids = [entity_id for (entity_id,) in fetch_rows(_NAMED, values)]
        owners = read_owners(workspace, scope_id=scope_id, ids=ids)
    known = [(owners.entities[entity_id], _forms(owners, entity_id)) for entity_id in sorted(ids)]
    shortlists = []
    for text in heard:
        found: dict[UUID, EntityCandidate] = {}
        for exact, similarity in ((True, EXACT_SIMILARITY), (False, LEXICAL_SIMILARITY)):
            for entity, forms in known:
                owner = owners.present(entity.id)
                if owner is not None and any(_is_said(form, text) for form in forms[exact]):
                    found.setdefault(owner.id, candidate(owner, similarity=similarity))
        shortlists.append(list(found.values())[:MAX_SHORTLIST])
    return shortlists, owners


def _is_said(form: str, text: str) -> bool:
    """As whole words where it is not Chinese, which has no word ends."""
    start = text.find(form)
    while start >= 0:
        before, after = text[:start][-1:], text[start + len(form) :][:1]
        if not (_are_one_word(before, form[0]) or _are_one_word(form[-1], after)):
            return True
        start = text.find(form, start + 1)
    return False


def _are_one_word(left: str, right: str) -> bool:
    return bool(left and right) and f"{left}{right}".isascii() and f"{left}{right}".isalnum()


def _forms(owners: Owners, entity_id: UUID) -> dict[bool, set[str]]:
    """Compared: the whole names, and whatever else it is called."""
    entity = owners.entities[entity_id]
    whole = set(entity.normalised_names)
    spoken = spoken_forms(candidate(entity, similarity=0.0))
    return {True: whole, False: {*map(normalise_name, spoken), *map(without_title, whole)} - {""}}

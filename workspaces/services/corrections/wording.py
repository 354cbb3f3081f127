"""The words of a leaf that a person wrote: cut from the text itself, no model is asked."""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from workspaces.judging.leaf_words import labels_of, summary_of, title_of
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import SourceLeaf
from workspaces.services.placement import MAX_SECONDARY
from workspaces.services.shortlist import name_runs

# Raw SQL for a hashed look-up of each stored name, as in the shortlist.
_NAMED = """
SELECT entity.id FROM workspaces_entity AS entity
 WHERE entity.workspace_id = %(workspace)s AND entity.scope_id = %(scope)s
   AND NOT entity.is_system AND entity.id IS DISTINCT FROM %(owner)s AND EXISTS (
     SELECT 1 FROM unnest(entity.normalised_names) AS known(name)
      WHERE known.name = ANY(%(runs)s::text[]))
 ORDER BY entity.id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Wording:
    """What describes a text beside the text itself."""

    title: str
    summary: str
    labels: tuple[str, ...]


def wording_of(text: str, *, entity_name: str | None) -> Wording:
    names = [entity_name] if entity_name else []
    return Wording(title_of(text), summary_of(text), labels_of(text, names=names))


def wording_like(leaf: SourceLeaf) -> Wording:
    """For a text that comes back: as it was described before."""
    return Wording(leaf.title, leaf.summary, tuple(leaf.labels))


def named_entities(
    workspace: Workspace, *, scope_id: UUID, owner_id: UUID | None, text: str
) -> list[UUID]:
    """Entities of the scope that the text names, its owner left out; inside the caller's step."""
    values = {
        "workspace": workspace.pk,
        "scope": scope_id,
        "owner": owner_id,
        "runs": name_runs(text),
        "limit": MAX_SECONDARY,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NAMED, values)
        return [row[0] for row in cursor.fetchall()]

"""Tenants for measurements beside each other: one that is measured, one that floods, many others.

A data directory that was filled once is measured as often as one likes.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from django.db import connection

from holamem.database.roles import as_owner
from holamem.errors import NotFound
from retrieval.bench.crowd_plan import CrowdPlan
from retrieval.bench.seeding import Seeder
from workspaces.models.tenancy import ApiKey, Tenant, Workspace
from workspaces.services.api_keys import issue_key
from workspaces.services.operators import find_workspaces
from workspaces.services.quotas import set_quotas
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.services.vector_indexes import maintain_vector_indexes

MEASURED, FLOODING, FENCED = "bench-measured", "bench-flooding", "bench-fenced"
SLUG = "memory"
PERMISSIONS = [ApiKey.Permission.MEMORY_READ.value]


@dataclass(frozen=True, slots=True)
class Keys:
    """Tokens that read the memories of these tenants."""

    measured: str
    flooding: str


def fill_crowd(plan: CrowdPlan, *, with_others: bool) -> Keys:
    """What is there already is left as it is; new keys are made in any case."""
    filler = _Filler()
    measured = filler.workspace(MEASURED, leaves=plan.leaves)
    flooding = filler.workspace(FLOODING, leaves=plan.leaves)
    filler.workspace(FENCED, leaves=plan.fenced_leaves)
    for number in range(plan.others if with_others else 0):
        filler.workspace(f"bench-other-{number}", leaves=plan.leaves_of_others // plan.others)
    filler.settle()
    set_quotas(flooding.tenant, quotas={"requests_per_second": plan.limit})
    return Keys(_key(measured.tenant), _key(flooding.tenant))


def fenced_workspace() -> Workspace:
    """Raises NotFound before `fill_crowd`."""
    return find_workspaces(tenant=FENCED, slug=SLUG)[0]


def as_words(keys: Keys) -> str:
    return json.dumps(asdict(keys))


def keys_of(words: str) -> Keys:
    found: dict[str, Any] = json.loads(words)
    return Keys(**found)


def _key(tenant: Tenant) -> str:
    return issue_key(tenant, name="bench", permissions=PERMISSIONS).token


class _Filler:
    """Reads the sample's texts and their vectors when the first memory is filled."""

    def __init__(self) -> None:
        self._seeder: Seeder | None = None

    def workspace(self, slug: str, *, leaves: int) -> Workspace:
        with suppress(NotFound):
            return find_workspaces(tenant=slug, slug=SLUG)[0]
        self._seeder = self._seeder or Seeder()
        made = create_workspace(create_tenant(slug=slug, name=slug), slug=SLUG, name="Memory")
        self._seeder.fill(made, leaves=leaves)
        return made

    def settle(self) -> None:
        """What autovacuum and the sweep do in time."""
        if self._seeder is None:
            return
        with as_owner(connection), connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
        maintain_vector_indexes(most=None)

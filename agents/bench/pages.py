"""How long the server takes for each list page, of the dashboard and of the admin.

Requests go through the whole stack of middleware in this process, signed in as the owner, so
that what is measured is the server's own time. Each page is asked for once before it counts.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.urls import reverse

from agents.bench.ledgers import fill_ledgers
from holamem.database.roles import as_owner
from holamem.database.scope import system_scope
from retrieval.bench.measures import Measure, percentile
from retrieval.bench.seeding import LEAVES_PER_TREE, Seeder
from workspaces.models.tenancy import Membership, Tenant, Workspace
from workspaces.services.tenants import create_tenant, create_workspace

MOST_P95_MS = 200.0
SMALL = 30 * LEAVES_PER_TREE  # a full screen of every list, and of the trees that are searched
HOST = "localhost"
# What follows the address of a workspace. Searches and later pages are lists, too.
PAGES = {
    "overview": "",
    "activity": "activity/",
    "attention": "attention/",
    "trees": "trees/",
    "trees-search": "trees/?q=gateway",
    "trees-later": "trees/?page=30",
    "entities": "entities/",
    "entities-search": "entities/?q=gateway",
    "gaps": "gaps/",
    "gaps-later": "gaps/?page=100",
    "events": "events/",
    "events-status": "events/?status=failed",
    "events-outcome": "events/?outcome=rejected",
    "events-later": "events/?page=1000",
    "jobs": "jobs/",
    "jobs-state": "jobs/?state=parked",
    "sessions": "sessions/",
    "agents": "agents/",
    "text-memory": "text-memory/",
    "distillations": "distillations/",
    "history": "history/",
    "integrations": "integrations/",
    "audit": "audit/",
    "members": "settings/members/",
    "keys": "settings/keys/",
    "webhooks": "settings/webhooks/",
    "usage": "settings/usage/",
    "exports": "settings/exports/",
}


@dataclass(frozen=True, slots=True)
class Looked:
    """One request: its time in ms and the SQL statements that it sent."""

    took: float
    statements: int


def measure_pages(*, leaves: int, rounds: int) -> list[Measure]:
    """On the database of this process, which is filled first."""
    tenant = create_tenant(slug=f"bench-{uuid4().hex[:12]}", name="Bench")
    client = _signed_in(tenant)
    seeder = Seeder()
    small = _filled(tenant, seeder, slug="small", leaves=SMALL)
    large = _filled(tenant, seeder, slug="large", leaves=leaves)
    with as_owner(connection), connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # what autovacuum does in time
    return [
        *_dashboard(client, small=small, large=large, rounds=rounds),
        *_admin(client, rounds=rounds),
    ]


def _filled(tenant: Tenant, seeder: Seeder, *, slug: str, leaves: int) -> Workspace:
    workspace = create_workspace(tenant, slug=slug, name=slug.title())
    seeder.fill(workspace, leaves=leaves)
    fill_ledgers(workspace, leaves=leaves)
    return workspace


def _signed_in(tenant: Tenant) -> Client:
    user = get_user_model().objects.create(
        username=f"bench-{uuid4().hex[:12]}", is_staff=True, is_superuser=True
    )
    with system_scope():
        Membership.objects.create(tenant=tenant, user_id=user.pk, role=Membership.Role.OWNER)
    client = Client(HTTP_HOST=HOST)
    client.force_login(user)
    return client


def _dashboard(client: Client, *, small: Workspace, large: Workspace, rounds: int) -> list[Measure]:
    measures: list[Measure] = []
    for name, path in PAGES.items():
        full = re.sub(r"\?page=\d+", "", path)  # of a small one, a later page is empty
        few = _look(client, _address(small, full), rounds=1)[-1]
        seen = _look(client, _address(large, path), rounds=rounds)
        measures += _of_page(name, seen)
        grown = max(look.statements for look in seen) - few.statements
        measures.append(Measure(f"{name}_more_statements", max(0, grown), "", at_most=0))
    return measures


def _admin(client: Client, *, rounds: int) -> list[Measure]:
    """Every list of a model, and its search, which leads through all of its rows."""
    measures: list[Measure] = []
    for model in admin.site._registry:  # the only list of them that Django has
        options = model._meta
        address = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
        measures += _of_page(f"admin-{options.model_name}", _look(client, address, rounds=rounds))
        searched = _look(client, f"{address}?q=gateway", rounds=rounds)
        measures += _of_page(f"admin-{options.model_name}-search", searched)
    return measures


def _address(workspace: Workspace, path: str) -> str:
    return f"/w/{workspace.tenant.slug}/{workspace.slug}/{path}"


def _of_page(name: str, seen: Sequence[Looked]) -> list[Measure]:
    took = percentile([look.took for look in seen], 0.95)
    return [
        Measure(f"{name}_p95", round(took, 1), "ms", at_most=MOST_P95_MS),
        Measure(f"{name}_statements", max(look.statements for look in seen), "statements"),
    ]


def _look(client: Client, address: str, *, rounds: int) -> list[Looked]:
    client.get(address)
    return [_request(client, address) for _ in range(rounds)]


def _request(client: Client, address: str) -> Looked:
    counter = _Counter()
    began = time.perf_counter()
    with connection.execute_wrapper(counter):
        response = client.get(address)
    took = (time.perf_counter() - began) * 1000
    if response.status_code != 200:
        raise RuntimeError(f"{address} answered {response.status_code}.")
    return Looked(took, counter.statements)


class _Counter:
    def __init__(self) -> None:
        self.statements = 0

    def __call__(
        self, execute: Any, sql: str, params: Any, many: bool, context: Mapping[str, Any]
    ) -> Any:
        self.statements += 1
        return execute(sql, params, many, context)

"""A second, empty database with a copy of the body files: what is left after a disaster."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.files.storage import storages
from django.test import override_settings

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.environment import get_environment
from tests import conftest
from workspaces.index.embedding import current_model
from workspaces.models.tenancy import Workspace


def bodies_root() -> Path:
    return Path(storages["bodies"].base_location)  # type: ignore[attr-defined]


@contextmanager
def elsewhere(workspace: Workspace, folder: Path) -> Iterator[Path]:
    """Inside, the connection and the storage are those of an empty installation.

    Yields the root of the copied bodies. `folder` is empty and stays.
    """
    kept_url = get_environment().database_url
    tenant = workspace.tenant.slug
    copy = folder / "bodies"
    shutil.copytree(bodies_root() / tenant, copy / tenant)
    server = conftest._server()
    stores = {**settings.STORAGES, "bodies": {**settings.STORAGES["bodies"]}}
    stores["bodies"]["OPTIONS"] = {**stores["bodies"]["OPTIONS"], "location": copy}
    url = server.create_database(f"second_{uuid4().hex[:12]}", template=conftest.TEMPLATE)
    with override_settings(STORAGES=stores):
        _switch(url)
        try:
            yield copy
        finally:
            _switch(str(kept_url))


def _switch(url: str) -> None:
    conftest._use_database(url)
    current_model.cache_clear()


def same_workspace(workspace: Workspace) -> Workspace:
    """The row of the same id in the database of the moment."""
    with system_scope():
        return Workspace.objects.select_related("tenant").get(id=workspace.pk)


LEAF = (
    "id", "tree_id", "scope_id", "category", "entity_id", "status", "supersedes_leaf_id",
    "superseded_by_id", "moved_from_leaf_id", "valid_until", "forgotten_at", "observed_at",
    "created_at", "title", "summary", "body_path", "body_sha256", "body_bytes", "fingerprint",
    "subject_key", "confidence", "verification_policy", "staleness_policy", "stale_after_days",
    "labels", "language", "trust", "origin_kind", "session_ref", "actor",
)  # fmt: skip
SUMMARY = (
    "id", "tree_id", "parent_id", "height", "level", "is_root", "provisional", "status", "withheld",
    "title", "summary", "body_path", "body_sha256", "child_kind", "child_ids", "child_set_sha256",
    "leaf_count", "observed_at", "time_range_start", "time_range_end", "labels", "language",
    "trust", "model", "sealed_at",
)  # fmt: skip
TREE = (
    "id", "scope_id", "category", "key", "title", "entity_id", "provider", "account", "root_id",
    "height", "leaf_count", "status", "created_at",
)  # fmt: skip
ENTITY = (
    "id", "scope_id", "type", "slug", "name", "normalised_name", "aliases", "normalised_names",
    "description", "is_system", "merged_into_id", "created_at",
)  # fmt: skip
MILLISECOND = 1000  # a file is written a moment before its row says so


def topology(workspace: Workspace) -> dict[str, Any]:
    """What memory is: every tree, live summary and leaf, with all that they say about each other.

    A leaf that is not active has no place in its tree, and retired summaries are history.
    """
    with workspace_scope(workspace, ALL_SCOPES):
        live = workspace.summaries.exclude(status="retired")
        active = workspace.leaves.filter(status="active")
        return {
            "trees": rows(workspace.trees, TREE),
            "entities": rows(workspace.entities, ENTITY),
            "end_users": rows(workspace.end_users, ("id", "ref", "slug", "name")),
            "leaves": rows(workspace.leaves, LEAF),
            "parents": rows(active, ("id", "parent_id")),
            "summaries": rows(live, SUMMARY),
            "chunks": rows(workspace.leaves.exclude(status="erased"), ("id", "chunk_id")),
            "sources": rows(
                workspace.leaf_sources.filter(is_creator=True).exclude(leaf__status="erased"),
                ("leaf_id", "event_id"),
            ),
            "mentions": rows(workspace.leaf_entities, ("leaf_id", "entity_id")),
            "lexemes": rows(workspace.lexeme_entries, ("node_id", "status", "length", "lexemes")),
            "vectors": rows(workspace.vector_entries, ("node_id", "status", "source_sha256")),
            "erased": rows(workspace.erased_texts, ("id", "fingerprint", "leaf_id")),
        }


def rows(found: Any, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    kept = [name for name in columns if name not in ("created_at",)]
    return sorted(found.values_list(*kept), key=str)

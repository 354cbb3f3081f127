"""Commands: exit codes, one last line of JSON, and runs that may be repeated."""

import json
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction

from holamem.database.scope import ALL_SCOPES, eraser_scope, system_scope, workspace_scope
from holamem.errors import ProviderError
from tests.verification import assert_clean
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from workspaces.index.embedding import current_model
from workspaces.management.commands import reembed
from workspaces.models.index import EmbeddingModel, LexemeEntry
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.services.principals import admit_key
from workspaces.services.reindexing import (
    prepare_embedding_model,
    reembed_workspace,
    reindex_workspace,
    switch_embedding_model,
)


def run(name: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the last line of JSON."""
    output = StringIO()
    code = 0
    try:
        call_command(name, *arguments, "--json", stdout=output, stderr=StringIO())
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, json.loads(output.getvalue().strip().splitlines()[-1])


def said(name: str, *arguments: str) -> str:
    """What a person reads."""
    output = StringIO()
    call_command(name, *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def damage(workspace: Workspace, statement: str) -> None:
    with eraser_scope(), connection.cursor() as cursor:
        cursor.execute(statement, {"workspace": workspace.pk})
        assert cursor.rowcount > 0


def test_create_tenant_ends_with_a_line_that_opens_the_api() -> None:
    slug = f"t-{uuid4().hex}"
    code, line = run("create_tenant", "--slug", slug, "--workspace", "notes")
    assert code == 0
    assert (line["tenant"], line["workspace"]) == (slug, "notes")
    assert "admin" in admit_key(line["api_key"], workspace_slug=None).principal.permissions


def test_create_tenant_makes_nothing_when_a_part_is_refused() -> None:
    slug = f"t-{uuid4().hex}"
    with pytest.raises(CommandError):
        run("create_tenant", "--slug", slug, "--workspace", "Not A Slug")
    with system_scope():
        assert not Tenant.objects.filter(slug=slug).exists()


def test_create_key_is_bound_and_limited_as_asked(workspace: Workspace) -> None:
    _, line = run(
        "create_key", "--tenant", workspace.tenant.slug, "--workspace", workspace.slug,
        "--permission", "memory:read",
    )  # fmt: skip
    principal = admit_key(line["api_key"], workspace_slug=None).principal
    assert principal.workspace_id == workspace.id
    assert principal.permissions == {"memory:read"}


def test_create_key_refuses_a_workspace_of_another_tenant(
    workspace: Workspace, tenant: Tenant
) -> None:
    with pytest.raises(CommandError):
        run("create_key", "--tenant", tenant.slug, "--workspace", "elsewhere")


def test_verify_answers_with_its_exit_code(workspace: Workspace) -> None:
    remember(workspace, draft(ATLAS_FACTS[0]))
    chosen = ("verify", "--tenant", workspace.tenant.slug, "--workspace", workspace.slug)
    assert run(*chosen) == (0, {"workspaces": 1, "findings": [], "repaired": []})
    damage(
        workspace, "UPDATE workspaces_tree SET leaf_count = 9 WHERE workspace_id = %(workspace)s"
    )
    code, answer = run(*chosen)
    assert (code, answer["findings"][0]["code"]) == (1, "D1")
    damage(workspace, "DELETE FROM workspaces_vectorentry WHERE workspace_id = %(workspace)s")
    assert run(*chosen)[0] == 2
    code, answer = run(*chosen, "--fix")
    assert (code, len(answer["repaired"])) == (0, 2)
    drain(workspace)
    assert run(*chosen)[0] == 0


def test_verify_of_an_unknown_workspace_is_an_error() -> None:
    with pytest.raises(CommandError) as refused:
        run("verify", "--workspace", "nowhere-at-all")
    assert refused.value.returncode == 2


def lexemes(workspace: Workspace) -> list[tuple[object, ...]]:
    with workspace_scope(workspace, ALL_SCOPES):
        rows = LexemeEntry.objects.filter(workspace=workspace).order_by("node_id")
        return list(rows.values_list("node_id", "status", "length", "lexemes"))


def test_reindex_brings_back_exactly_what_was_there(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:9])])
    before = lexemes(workspace)
    damage(workspace, "DELETE FROM workspaces_lexemeentry WHERE workspace_id = %(workspace)s")
    assert reindex_workspace(workspace) == len(before)
    assert lexemes(workspace) == before
    assert_clean(workspace)


def test_the_reindex_command_counts_what_it_wrote(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:2])])
    damage(workspace, "DELETE FROM workspaces_lexemeentry WHERE workspace_id = %(workspace)s")
    chosen = ("--tenant", workspace.tenant.slug, "--workspace", workspace.slug)
    assert run("reindex", *chosen) == (0, {"workspaces": 1, "nodes": 2})
    assert said("reindex", *chosen) == "2 nodes indexed in 1 workspaces.\n"
    assert len(lexemes(workspace)) == 2


def test_reindex_of_an_unknown_workspace_is_an_error() -> None:
    with pytest.raises(CommandError, match="no such workspace"):
        run("reindex", "--workspace", "nowhere-at-all")


def test_the_reembed_command_makes_what_is_missing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reembed, "find_workspaces", lambda: [workspace])
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:2])])
    damage(workspace, "DELETE FROM workspaces_vectorentry WHERE workspace_id = %(workspace)s")
    model = current_model()
    code, line = run("reembed")
    assert (code, line) == (0, {"model": model.name, "dimension": model.dimension, "vectors": 2})
    assert said("reembed") == f"0 vectors made with {model}.\n"
    assert current_model() == model
    assert_clean(workspace)


def test_reembed_says_what_the_service_refuses(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **values: object) -> None:
        raise ProviderError("The embedding service refused the key.")

    monkeypatch.setattr(reembed, "find_workspaces", lambda: [workspace])
    monkeypatch.setattr(reembed, "reembed_workspace", refuse)
    with pytest.raises(CommandError, match="refused the key"):
        run("reembed")


def test_reembed_switches_the_model_and_goes_on_where_it_stopped(workspace: Workspace) -> None:
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:2])])
    with system_scope():
        old = EmbeddingModel.objects.get(is_current=True)
    other = prepare_embedding_model(name="another model", dimension=old.dimension)
    assert reembed_workspace(workspace, model=other) == 2
    assert reembed_workspace(workspace, model=other) == 0
    with workspace_scope(workspace, ALL_SCOPES):
        assert set(workspace.vector_entries.values_list("model_id", flat=True)) == {other.pk}
    assert reembed_workspace(workspace, model=old) == 2
    with system_scope():
        other.delete()
    assert_clean(workspace)


def test_the_current_model_is_one_and_the_vectors_of_others_go(workspace: Workspace) -> None:
    remember(workspace, draft(ATLAS_FACTS[0]))
    with transaction.atomic():
        other = prepare_embedding_model(name="another model", dimension=3)
        switch_embedding_model(other)
        with system_scope():
            assert EmbeddingModel.objects.get(is_current=True) == other
        with workspace_scope(workspace, ALL_SCOPES):
            assert not workspace.vector_entries.exists()
        transaction.set_rollback(True)  # the other tests go on with the model that they have

"""Keys and people: what they open, and what stays shut."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from tests.workspaces.memory import draft, principal_of, remember
from workspaces.models.tenancy import Membership, Tenant, Workspace
from workspaces.services.api_keys import issue_key, revoke_key
from workspaces.services.principals import (
    AuthenticationFailed,
    admit_key,
    principal_for_user,
    select_scopes,
    tenants_of,
    workspace_for,
    workspaces_of,
)
from workspaces.services.tenants import archive_workspace, create_tenant, create_workspace


def test_a_key_is_known_by_its_token_and_stored_as_a_hash(tenant: Tenant) -> None:
    issued = issue_key(tenant, name="ci", permissions=["memory:read"])
    principal = admit_key(issued.token, workspace_slug=None).principal
    assert (principal.tenant_id, principal.key_id) == (tenant.id, issued.key.id)
    assert principal.allows("memory:read")
    assert not principal.allows("memory:write")
    secret = issued.token.rsplit("_", 1)[1]
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT row_to_json(k)::text FROM workspaces_apikey k WHERE id = %s", [issued.key.id]
        )
        assert secret not in cursor.fetchone()[0]


@pytest.mark.parametrize("token", ["", "hm", "hm_x", "hm_ab_cd", "xx_ab_cd", "hm_é_x", "hm__"])
def test_a_token_that_is_no_key_is_invalid(token: str) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        admit_key(token, workspace_slug=None)
    assert caught.value.reason == "key_invalid"


def test_a_right_prefix_with_a_wrong_secret_is_invalid(tenant: Tenant) -> None:
    token = issue_key(tenant, name="k", permissions=[]).token
    with pytest.raises(AuthenticationFailed):
        admit_key(token[:-1] + ("0" if token[-1] != "0" else "1"), workspace_slug=None)


def test_revoked_expired_and_suspended_keys_say_which(tenant: Tenant) -> None:
    revoked = issue_key(tenant, name="r", permissions=[])
    revoke_key(revoked.key)
    expired = issue_key(tenant, name="e", permissions=[], expires_at=now() - timedelta(seconds=1))
    live = issue_key(tenant, name="l", permissions=[])
    reasons = []
    for issued in (revoked, expired):
        with pytest.raises(AuthenticationFailed) as caught:
            admit_key(issued.token, workspace_slug=None)
        reasons.append(caught.value.reason)
    with system_scope():
        Tenant.objects.filter(id=tenant.id).update(suspended_at=now())
    with pytest.raises(AuthenticationFailed) as caught:
        admit_key(live.token, workspace_slug=None)
    assert [*reasons, caught.value.reason] == ["key_revoked", "key_expired", "tenant_suspended"]


def test_a_key_cannot_be_bound_outside_its_tenant(tenant: Tenant, workspace: Workspace) -> None:
    other = create_tenant(slug=f"o-{uuid4().hex}", name="Other")
    with pytest.raises(InvalidInput):
        issue_key(other, name="k", permissions=[], workspace=workspace)
    with pytest.raises(InvalidInput):
        issue_key(tenant, name="k", permissions=["memory:everything"])


def test_a_workspace_of_another_tenant_does_not_exist(workspace: Workspace) -> None:
    other = create_tenant(slug=f"o-{uuid4().hex}", name="Other")
    stranger = replace(principal_of(workspace), tenant_id=other.id)
    messages = []
    for slug in (workspace.slug, "never-made"):
        with pytest.raises(NotFound) as caught:
            workspace_for(stranger, slug=slug)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_key_of_one_workspace_sees_that_one_only(tenant: Tenant, workspace: Workspace) -> None:
    create_workspace(tenant, slug="second", name="Second")
    bound = replace(principal_of(workspace), workspace_id=workspace.id)
    assert [row.id for row in workspaces_of(bound)] == [workspace.id]
    with pytest.raises(NotFound):
        workspace_for(bound, slug="second")


def test_an_archived_workspace_is_gone_and_its_slug_is_kept(tenant: Tenant) -> None:
    row = create_workspace(tenant, slug="old", name="Old")
    archive_workspace(row)
    with pytest.raises(NotFound):
        workspace_for(principal_of(row), slug="old")
    with pytest.raises(Conflict):
        create_workspace(tenant, slug="old", name="New")


def test_scopes_follow_the_end_user(workspace: Workspace) -> None:
    remember(workspace, draft("Ada likes green tea most.", user_id="ada"))
    reader = principal_of(workspace, "memory:read")
    with workspace_scope(workspace):
        ada = workspace.end_users.get(ref="ada")
    shared = (workspace.id,)
    assert select_scopes(workspace, principal=reader, user_id=None).scopes == shared
    assert select_scopes(workspace, principal=reader, user_id="nobody").scopes == shared
    assert select_scopes(workspace, principal=reader, user_id="ada").scopes == (*shared, ada.id)
    bound = replace(reader, end_user_id=ada.id, end_user_ref="ada")
    assert select_scopes(workspace, principal=bound, user_id=None).scopes == (*shared, ada.id)
    with pytest.raises(NotFound):
        select_scopes(workspace, principal=bound, user_id="bob")


def test_everyones_memory_needs_the_permission_and_is_audited(workspace: Workspace) -> None:
    reader = principal_of(workspace, "memory:read")
    with pytest.raises(PermissionDenied):
        select_scopes(workspace, principal=reader, user_id="*")
    allowed = principal_of(workspace, "memory:read", "memory:all_users")
    assert select_scopes(workspace, principal=allowed, user_id="*").scopes == ALL_SCOPES
    with workspace_scope(workspace):
        assert workspace.audit_entries.get().action == "memory.read_all_users"


def test_a_person_has_the_rights_of_the_role(tenant: Tenant) -> None:
    user = get_user_model().objects.create_user(f"u-{uuid4().hex}")
    with pytest.raises(NotFound):
        principal_for_user(user, tenant=tenant)
    with system_scope():
        membership = Membership.objects.create(tenant=tenant, user=user, role="viewer")
    assert [row.id for row in tenants_of(user)] == [tenant.id]
    assert not principal_for_user(user, tenant=tenant).allows("memory:write")
    with system_scope():
        Membership.objects.filter(id=membership.id).update(role="member")
    assert principal_for_user(user, tenant=tenant).allows("memory:write")

"""The settings of a workspace: all explained, ranges kept, a refusal names its setting."""

from holamem.database.scope import system_scope
from tests.dashboard.pages import messages_in, page_of
from tests.dashboard.people import make_person, signed_in_client
from workspaces.dashboard.settings import EXPLAINED
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.settings import WorkspaceSettings


def address(workspace: Workspace) -> str:
    return f"/w/{workspace.tenant.slug}/{workspace.slug}/settings/workspace/"


def posted(workspace: Workspace, **values: object) -> dict[str, object]:
    return {"name": workspace.name, **workspace.preferences.model_dump(mode="json"), **values}


def stored(workspace: Workspace) -> Workspace:
    with system_scope():
        return Workspace.objects.get(id=workspace.id)


def test_every_setting_is_explained_with_its_range(tenant: Tenant, workspace: Workspace) -> None:
    assert set(EXPLAINED) == set(WorkspaceSettings.model_fields)
    page = page_of(signed_in_client(make_person(tenant)).get(address(workspace)))
    for name in WorkspaceSettings.model_fields:
        assert f'name="{name}"' in page, name
    assert "From 2 to 64; 8 unless it is set." in page


def test_what_differs_is_saved_and_the_rest_keeps_following_the_default(
    tenant: Tenant, workspace: Workspace
) -> None:
    admin = signed_in_client(make_person(tenant, role="admin"))
    changes = posted(workspace, name="Renamed", seal_threshold=12, time_zone="Asia/Shanghai")
    assert admin.post(address(workspace), changes).status_code == 302
    saved = stored(workspace)
    assert saved.name == "Renamed"
    assert saved.settings == {"seal_threshold": 12, "time_zone": "Asia/Shanghai"}
    page = page_of(admin.get(address(workspace)))
    assert "settings are saved" in messages_in(page)


def test_a_value_out_of_range_is_told_beside_its_setting(
    tenant: Tenant, workspace: Workspace
) -> None:
    owner = signed_in_client(make_person(tenant))
    wrong = posted(workspace, seal_threshold=65, time_zone="Mars/Base", match_threshold="much")
    page = page_of(owner.post(address(workspace), wrong))
    assert "Leaves of a summary: Ensure this value is less than or equal to 64." in page
    assert "Time zone: This time zone is not known." in page
    assert 'value="much"' in page
    assert stored(workspace).settings == workspace.settings
    assert owner.post(address(workspace), {"name": ""}).status_code == 200


def test_members_do_not_configure(tenant: Tenant, workspace: Workspace) -> None:
    member = signed_in_client(make_person(tenant, role="member"))
    assert member.get(address(workspace)).status_code == 403
    assert member.post(address(workspace), posted(workspace, name="Mine")).status_code == 403
    assert stored(workspace).name == workspace.name

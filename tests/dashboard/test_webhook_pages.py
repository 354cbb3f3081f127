"""Webhooks as pages: the secret once, pause and resume, a test message, deletion, the log."""

import re

from django.test import Client

from holamem.database.scope import workspace_scope
from tests.dashboard.pages import messages_in, page_of
from tests.dashboard.people import make_person, signed_in_client
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.webhooks import Webhook, WebhookDelivery

URL = "https://hooks.example.com/memory?token=abc"
SECRET = re.compile(r"whsec_[\w+/=]+")


def base(workspace: Workspace) -> str:
    return f"/w/{workspace.tenant.slug}/{workspace.slug}/settings/webhooks/"


def made(client: Client, workspace: Workspace, **values: object) -> tuple[Webhook, str]:
    """The row, and the page that shows its secret."""
    page = page_of(client.post(f"{base(workspace)}create/", {"url": URL, **values}))
    with workspace_scope(workspace):
        return workspace.webhooks.get(deleted_at=None), page


def test_a_webhook_is_made_and_its_secret_shown_once(tenant: Tenant, workspace: Workspace) -> None:
    admin = signed_in_client(make_person(tenant, role="admin"))
    assert "Nobody is told yet" in page_of(admin.get(base(workspace)))
    webhook, page = made(admin, workspace, events=["gap.opened"])
    assert SECRET.search(page)
    assert "a gap opened" in page
    for address in (base(workspace), f"{base(workspace)}{webhook.id}/"):
        shown = page_of(admin.get(address))
        assert URL in shown
        assert not SECRET.search(shown)


def test_it_is_tested_paused_resumed_and_deleted(tenant: Tenant, workspace: Workspace) -> None:
    owner = signed_in_client(make_person(tenant))
    webhook, _page = made(owner, workspace)
    address = f"{base(workspace)}{webhook.id}/"
    assert owner.post(f"{address}ping/").status_code == 302
    page = page_of(owner.get(address))
    assert "on its way" in messages_in(page)
    assert "waiting to be sent" in page
    assert owner.post(f"{address}switch/", {"enabled": "no"}).status_code == 302
    assert "Resume webhook" in page_of(owner.get(address))
    owner.post(f"{address}ping/")
    assert "switched off" in messages_in(page_of(owner.get(address)))
    assert owner.post(f"{address}switch/", {"enabled": "yes"}).status_code == 302
    with workspace_scope(workspace):
        assert workspace.webhooks.get(id=webhook.id).enabled
        states = set(workspace.webhook_deliveries.values_list("state", flat=True))
    assert states == {WebhookDelivery.State.CANCELLED}
    assert owner.post(f"{address}delete/").status_code == 302
    assert owner.get(address).status_code == 404
    assert URL not in page_of(owner.get(base(workspace)))


def test_an_address_that_cannot_be_called_is_told_and_kept_in_the_form(
    tenant: Tenant, workspace: Workspace
) -> None:
    owner = signed_in_client(make_person(tenant))
    wrong = "https://user:secret@hooks.example.com/"
    page = page_of(owner.post(f"{base(workspace)}create/", {"url": wrong, "events": "gap.closed"}))
    assert "must hold no credentials" in page.split('role="alert"')[1]
    assert f'value="{wrong}"' in page
    assert re.search(r'value="gap.closed" checked', page)
    with workspace_scope(workspace):
        assert not workspace.webhooks.exists()


def test_only_admins_see_webhooks(tenant: Tenant, workspace: Workspace) -> None:
    webhook, _page = made(signed_in_client(make_person(tenant)), workspace)
    member = signed_in_client(make_person(tenant, role="member"))
    for address in (base(workspace), f"{base(workspace)}{webhook.id}/"):
        assert member.get(address).status_code == 403

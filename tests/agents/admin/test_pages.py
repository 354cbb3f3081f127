"""The admin of agents: every model, read-only, and nothing of what was said."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from agents.hot.text_memory import Writer, upsert_topic
from agents.hot.topics import TopicDraft
from agents.models.conversations import Message
from agents.models.hot_memory import TextMemory
from agents.models.runs import RunEvent
from holamem.database.scope import system_scope
from tests.agents.replies import talk
from tests.dashboard.people import make_person, signed_in_client
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_tenant, create_workspace

MODELS = list(apps.get_app_config("agents").get_models())
SECRET = "zq9-the-phrase"


@pytest.fixture(scope="module")
def workspace(django_db_setup: None) -> Workspace:
    made = create_workspace(create_tenant(slug="t-admin-agents", name="A"), slug="a", name="A")
    topic = TopicDraft("atlas", SECRET, SECRET)
    upsert_topic(made, scope_id=made.id, topic=topic, writer=Writer("tool"))
    talking = talk(made, content=SECRET)
    talking.reply(("memory_write", {"action": "save", "name": SECRET, "content": SECRET}))
    return made


@pytest.fixture(scope="module")
def root(workspace: Workspace) -> Client:
    return signed_in_client(make_person(workspace.tenant, is_staff=True, is_superuser=True))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_rows_are_looked_at_without_what_they_say_and_never_changed(
    model: type[Model], root: Client
) -> None:
    page, name = admin.site._registry[model], f"admin:agents_{model._meta.model_name}"
    assert page.search_fields
    listed = root.get(reverse(f"{name}_changelist"), {"q": "a"})
    assert (listed.status_code, SECRET in listed.content.decode()) == (200, False)
    assert root.get(reverse(f"{name}_add")).status_code == 403
    with system_scope():
        row = model._default_manager.order_by("-pk").first()
    if row is not None:
        shown = root.get(reverse(f"{name}_change", args=[row.pk]))
        assert (shown.status_code, SECRET in shown.content.decode()) == (200, False)
        assert root.post(reverse(f"{name}_delete", args=[row.pk])).status_code == 403


def test_staff_of_another_tenant_see_none_of_it(workspace: Workspace) -> None:
    tenant = create_tenant(slug="t-admin-strange", name="B")
    staff = signed_in_client(make_person(tenant, is_staff=True))
    for model in (Message, RunEvent, TextMemory):
        name = f"admin:agents_{model._meta.model_name}_changelist"
        answer = staff.get(reverse(name))
        assert answer.status_code == 200
        assert workspace.slug not in str(answer.context["cl"].result_list)
        assert answer.context["cl"].result_count == 0

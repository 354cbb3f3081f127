"""People who sign in to the dashboard in tests."""

from uuid import uuid4

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.test import Client

from holamem.database.scope import system_scope
from workspaces.models.tenancy import Membership, Tenant

PASSWORD = "a-long-password-of-tests"


def make_person(tenant: Tenant | None, *, role: str = "owner", **values: bool) -> User:
    user = get_user_model().objects.create_user(f"p-{uuid4().hex[:12]}", password=PASSWORD)
    for name, value in values.items():
        setattr(user, name, value)
    user.save()
    if tenant is not None:
        with system_scope():
            Membership.objects.create(tenant=tenant, user_id=user.pk, role=role)
    return user


def signed_in_client(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client

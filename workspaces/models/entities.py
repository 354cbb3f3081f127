"""What interaction memory is about."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace


class Entity(models.Model):
    class Type(models.TextChoices):
        PERSON = "person"
        PROJECT = "project"
        WORKFLOW = "workflow"
        PREFERENCE = "preference"
        IDENTITY = "identity"
        CUSTOMER = "customer"
        SYSTEM = "system"
        TOPIC = "topic"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="entities")
    scope_id = models.UUIDField()
    type = models.CharField(max_length=10, choices=Type)
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=200)
    normalised_name = models.CharField(max_length=200)
    aliases = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    # The name and the aliases as they are compared.
    normalised_names = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    description = models.TextField(blank=True)
    is_system = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "entities"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="entity_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "scope_id", "slug"], name="entity_slug"),
            models.UniqueConstraint(
                fields=["workspace", "scope_id", "type", "normalised_name"], name="entity_name"
            ),
        ]
        indexes = [
            # Names and aliases that occur in a chunk, looked up by its word runs.
            GinIndex(fields=["normalised_names"], name="entity_names"),
        ]

    def __str__(self) -> str:
        return self.name

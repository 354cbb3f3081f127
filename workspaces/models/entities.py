"""What interaction memory is about."""

from django.contrib.postgres.fields import ArrayField
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
    # The name and the aliases as they are compared; empty for a merged one, which has no name left.
    normalised_names = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    description = models.TextField(blank=True)
    is_system = models.BooleanField(default=False)
    # The live entity that this one became part of; never one that is merged itself.
    merged_into = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="merged_entities",
        db_constraint=False,
    )
    # Leaves with a greater id still carry former names in the search index; null when none does.
    names_indexed_to = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "entities"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="entity_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "scope_id", "slug"], name="entity_slug"),
            models.UniqueConstraint(
                fields=["workspace", "scope_id", "type", "normalised_name"],
                condition=models.Q(merged_into=None),
                name="entity_name",
            ),
            models.CheckConstraint(
                name="entity_not_into_itself",
                condition=models.Q(merged_into=None) | ~models.Q(merged_into=models.F("id")),
            ),
        ]
        indexes = [
            # What became part of an entity.
            models.Index(
                fields=["merged_into"],
                condition=models.Q(merged_into__isnull=False),
                name="entity_merged",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def erased_name(self) -> str:
        """What it is called once all that was known of it is erased, and its name with it."""
        return f"erased-{self.id.hex[-12:]}"

    @property
    def is_nameless(self) -> bool:
        return self.name == self.erased_name

    @property
    def all_names(self) -> list[str]:
        """The name, then the aliases."""
        return [self.name, *self.aliases]

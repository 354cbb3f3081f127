"""The search index: derived rows, narrow on purpose (wide rows cost four to thirty times more)."""

from django.contrib.postgres.search import SearchVectorField
from django.db import models
from pgvector.django import HalfVectorField

from holamem.ids import new_id
from workspaces.models.tenancy import Workspace


class NodeKind(models.TextChoices):
    LEAF = "leaf"
    SUMMARY = "summary"


class EmbeddingModel(models.Model):
    """The model whose vectors are stored; installation-wide, one row is current."""

    name = models.CharField(max_length=200, unique=True)
    dimension = models.PositiveIntegerField()
    is_current = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_current"],
                condition=models.Q(is_current=True),
                name="embedding_model_one_current",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension})"


class VectorEntry(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="vector_entries", db_index=False
    )
    scope_id = models.UUIDField()
    node_id = models.UUIDField()
    tree_id = models.UUIDField()
    kind = models.CharField(max_length=7, choices=NodeKind)
    status = models.CharField(max_length=11, default="active")
    model = models.ForeignKey(EmbeddingModel, on_delete=models.PROTECT, db_index=False)
    source_sha256 = models.CharField(max_length=64)
    embedding = HalfVectorField()

    class Meta:
        verbose_name_plural = "vector entries"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "node_id"], name="vector_once"),
        ]
        indexes = [
            # The exact scan of one workspace and scope.
            models.Index(fields=["workspace", "scope_id", "kind"], name="vector_scan"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.node_id}"


class LexemeEntry(models.Model):
    """`length` is the number of terms, for BM25; `lexemes` holds a scope lexeme beside them."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="lexeme_entries", db_index=False
    )
    scope_id = models.UUIDField()
    node_id = models.UUIDField()
    tree_id = models.UUIDField()
    kind = models.CharField(max_length=7, choices=NodeKind)
    status = models.CharField(max_length=11, default="active")
    length = models.PositiveIntegerField()
    lexemes = SearchVectorField()

    class Meta:
        verbose_name_plural = "lexeme entries"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "node_id"], name="lexeme_once"),
        ]
        indexes = [
            # Document count and mean length of a scope, for BM25.
            models.Index(
                fields=["workspace", "scope_id"], include=["length"], name="lexeme_statistics"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.node_id}"

"""Trees, leaves, summaries and entities as answers."""

from typing import Any

from rest_framework import serializers

from holamem.http.fields import StrictChoiceField, choices
from workspaces.api.base import UserQuery
from workspaces.api.pagination import PageQuery, page_of
from workspaces.models.entities import Entity
from workspaces.models.log import Category, Event
from workspaces.models.trees import SourceLeaf, SummaryNode, Tree


class TreeListQuery(PageQuery, UserQuery):
    category = StrictChoiceField(
        choices=choices(Category.values), required=False, help_text="Trees of this category."
    )


class EntityListQuery(PageQuery, UserQuery):
    type = StrictChoiceField(
        choices=choices(Entity.Type.values), required=False, help_text="Entities of this type."
    )


class TreeSerializer(serializers.Serializer[Any]):
    """A tree; `user_id` is null when its memory is shared, `root_id` null below the threshold."""

    tree_id = serializers.UUIDField(source="id")
    key = serializers.CharField()
    category = StrictChoiceField(choices=choices(Category.values))
    title = serializers.CharField()
    status = StrictChoiceField(choices=choices(Tree.Status.values))
    leaf_count = serializers.IntegerField()
    summary_count = serializers.IntegerField()
    height = serializers.IntegerField()
    root_id = serializers.UUIDField(allow_null=True)
    user_id = serializers.CharField(allow_null=True)
    updated_at = serializers.DateTimeField()


class SealRequestedSerializer(serializers.Serializer[Any]):
    tree_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=choices(["queued"]))


class TreeRebuildSerializer(SealRequestedSerializer):
    summaries = serializers.IntegerField(help_text="How many will be written again.")
    audit_id = serializers.UUIDField()


class EntitySerializer(serializers.Serializer[Any]):
    entity_id = serializers.UUIDField(source="id")
    slug = serializers.CharField()
    name = serializers.CharField()
    type = StrictChoiceField(choices=choices(Entity.Type.values))
    aliases = serializers.ListField(child=serializers.CharField())
    description = serializers.CharField()
    is_system = serializers.BooleanField()
    user_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class NodeLineSerializer(serializers.Serializer[Any]):
    """A leaf or summary beside the one that was asked for; withheld ones have no title."""

    node_id = serializers.UUIDField(source="id")
    node_kind = serializers.ChoiceField(source="kind", choices=choices(["leaf", "summary"]))
    title = serializers.CharField()
    status = serializers.CharField()
    level = serializers.IntegerField()
    leaf_count = serializers.IntegerField()
    time_range_start = serializers.DateTimeField(source="start")
    time_range_end = serializers.DateTimeField(source="end")


class LeafSourceSerializer(serializers.Serializer[Any]):
    """An event that yielded the leaf, as its creator or as a duplicate."""

    event_id = serializers.UUIDField(source="id")
    kind = StrictChoiceField(choices=choices(Event.Kind.values))
    actor = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # a field named like an attribute of fields
    session = serializers.CharField(source="session_ref")
    occurred_at = serializers.DateTimeField(allow_null=True)
    received_at = serializers.DateTimeField()
    is_creator = serializers.BooleanField()


class LeafEntitySerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    type = StrictChoiceField(choices=choices(Entity.Type.values))
    is_primary = serializers.BooleanField()


class NodeSerializer(serializers.Serializer[Any]):
    """What leaves and summaries have in common. `body` is null where it may not be read."""

    tree_id = serializers.UUIDField()
    tree_key = serializers.CharField()
    category = StrictChoiceField(choices=choices(Category.values))
    user_id = serializers.CharField(source="owner", allow_null=True)
    title = serializers.CharField(source="node.title")
    summary = serializers.CharField()
    body = serializers.CharField(allow_null=True)
    body_problem = serializers.CharField(
        help_text="Why there is no body: forgotten, withheld, body_missing, body_corrupt or, while "
        "the disk does not give it, storage_unavailable; else empty."
    )
    body_sha256 = serializers.CharField(source="hashes.body_sha256")
    labels = serializers.ListField(child=serializers.CharField())
    language = serializers.CharField(source="facts.language")
    trust = serializers.CharField(source="facts.trust")
    parents = NodeLineSerializer(many=True, help_text="From the root down.")


class LeafSerializer(NodeSerializer):
    """A source leaf."""

    leaf_id = serializers.UUIDField(source="node.id")
    status = StrictChoiceField(source="node.status", choices=choices(SourceLeaf.Status.values))
    observed_at = serializers.DateTimeField(source="facts.observed_at")
    created_at = serializers.DateTimeField(source="facts.created_at")
    valid_until = serializers.DateTimeField(source="facts.valid_until", allow_null=True)
    confidence = serializers.FloatField(source="facts.confidence")
    verification_policy = StrictChoiceField(
        source="facts.verification_policy",
        choices=choices(SourceLeaf.VerificationPolicy.values),
    )
    staleness_policy = StrictChoiceField(
        source="facts.staleness_policy", choices=choices(SourceLeaf.StalenessPolicy.values)
    )
    origin_kind = StrictChoiceField(source="facts.origin_kind", choices=choices(Event.Kind.values))
    actor = serializers.CharField(source="facts.actor")
    entities = LeafEntitySerializer(many=True)
    sources = LeafSourceSerializer(source="events", many=True)


class SummarySerializer(NodeSerializer):
    """A summary node; `level` counts from the root (1), `height` from the leaves (1)."""

    summary_id = serializers.UUIDField(source="node.id")
    status = StrictChoiceField(source="node.status", choices=choices(SummaryNode.Status.values))
    level = serializers.IntegerField(source="node.level")
    height = serializers.IntegerField(source="node.height")
    leaf_count = serializers.IntegerField(source="node.leaf_count")
    time_range_start = serializers.DateTimeField(source="facts.time_range_start")
    time_range_end = serializers.DateTimeField(source="facts.time_range_end")
    sealed_at = serializers.DateTimeField(source="facts.sealed_at")
    provisional = serializers.BooleanField(source="facts.provisional")
    model = serializers.CharField(source="facts.model")
    children = NodeLineSerializer(many=True, help_text="In their recorded order.")


class VersionSerializer(serializers.Serializer[Any]):
    leaf_id = serializers.UUIDField(source="node.id")
    title = serializers.CharField(source="node.title")
    status = StrictChoiceField(source="node.status", choices=choices(SourceLeaf.Status.values))
    observed_at = serializers.DateTimeField(source="node.start")
    valid_until = serializers.DateTimeField(allow_null=True)


class HistorySerializer(serializers.Serializer[Any]):
    """Every version of the leaf's subject, newest first; only itself when it never changed."""

    leaf_id = serializers.UUIDField()
    results = VersionSerializer(many=True)


TreePageSerializer = page_of(TreeSerializer, name="TreePage")
EntityPageSerializer = page_of(EntitySerializer, name="EntityPage")

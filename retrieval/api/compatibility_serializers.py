"""Bodies and answers of the earlier contract."""

from typing import Any

from rest_framework import serializers

from holamem.http.fields import (
    AwareDateTimeField,
    NameField,
    QuerySerializer,
    SizedTextField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
    TextField,
    choices,
)
from retrieval.definitions import DEFAULT_RESULTS, MAX_RESULTS, QUERY_CHARACTERS
from workspaces.api.base import REF_CHARACTERS
from workspaces.api.serializers_events import (
    DEFAULT_WAIT_SECONDS,
    EXAMPLE_TIME,
    MAX_WAIT_SECONDS,
    ChunkResultSerializer,
    MetadataField,
)
from workspaces.models.log import Event
from workspaces.services.documents import PATH_CHARACTERS
from workspaces.services.intake import EVENT_TEXT_BYTES

SLUG_CHARACTERS = 200
PLACE_CHARACTERS = 300
REMEMBERED_KINDS = [
    str(Event.Kind.USER_MESSAGE),
    str(Event.Kind.ACCEPTED_PREFERENCE),
    str(Event.Kind.ACCEPTED_IDENTITY),
]


class ScoreField(serializers.FloatField):
    """A JSON number; not "0.5" or true."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return float(data)


class WorkspaceNames(StrictSerializer):
    """`workspace` and, as the earlier contract has it, `workspace_id` both take the slug."""

    workspace = TextField(
        required=False,
        max_length=SLUG_CHARACTERS,
        help_text="Slug; left out with a key that is bound to a workspace.",
    )
    workspace_id = TextField(
        required=False, max_length=SLUG_CHARACTERS, help_text="The same under its earlier name."
    )


class UserNames(WorkspaceNames):
    user_id = NameField(
        required=False, max_length=REF_CHARACTERS, help_text="That end user's memory as well."
    )


class SearchBody(UserNames):
    query = TextField(max_length=QUERY_CHARACTERS)
    max_results = StrictIntegerField(min_value=1, max_value=MAX_RESULTS, default=DEFAULT_RESULTS)
    min_score = ScoreField(
        min_value=0, max_value=1_000_000, required=False, help_text="Hits below it are left out."
    )


class GetBody(UserNames):
    path = TextField(
        max_length=PLACE_CHARACTERS,
        help_text="`leaves/{id}` or `summaries/{id}` from a hit, or the path of an upsert.",
    )


class UpsertBody(UserNames):
    content = SizedTextField(max_bytes=EVENT_TEXT_BYTES)
    path = NameField(
        required=False, max_length=PATH_CHARACTERS, help_text="A name of the caller's own."
    )
    append = StrictBooleanField(
        required=False,
        help_text="Taken and not needed: a newer statement replaces the older one it is about.",
    )
    kind = StrictChoiceField(choices=choices(REMEMBERED_KINDS), default=REMEMBERED_KINDS[0])
    occurred_at = AwareDateTimeField(required=False, help_text=EXAMPLE_TIME)
    metadata = MetadataField(required=False)
    timeout_s = StrictIntegerField(
        min_value=1, max_value=MAX_WAIT_SECONDS, default=DEFAULT_WAIT_SECONDS
    )


class StatusBody(WorkspaceNames):
    pass


class StatusQuery(QuerySerializer, WorkspaceNames):
    pass


class SyncBody(WorkspaceNames):
    reason = NameField(required=False, max_length=200)
    force = StrictBooleanField(required=False, help_text="Taken and not needed.")
    timeout_s = StrictIntegerField(
        min_value=1, max_value=MAX_WAIT_SECONDS, default=DEFAULT_WAIT_SECONDS
    )


class HitSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="For `memory/get`.")
    node_id = serializers.UUIDField()
    node_kind = StrictChoiceField(choices=choices(["leaf", "summary"]))
    tree_key = serializers.CharField()
    title = serializers.CharField()
    text = serializers.CharField(help_text="The body around the sentences that matched.")
    score = serializers.FloatField(help_text="Comparable within this answer only.")
    observed_at = serializers.DateTimeField()
    status = serializers.CharField()


class SearchAnswer(serializers.Serializer[Any]):
    workspace_id = serializers.CharField()
    query = serializers.CharField()
    retrieval_id = serializers.UUIDField()
    coverage = serializers.CharField(help_text="How far memory covers the question.")
    hits = HitSerializer(many=True)


class DocumentAnswer(serializers.Serializer[Any]):
    workspace_id = serializers.CharField()
    path = serializers.CharField()
    node_id = serializers.UUIDField()
    node_kind = StrictChoiceField(choices=choices(["leaf", "summary"]))
    title = serializers.CharField()
    text = serializers.CharField()
    status = serializers.CharField()


class UpsertAnswer(serializers.Serializer[Any]):
    workspace_id = serializers.CharField()
    path = serializers.CharField(allow_null=True)
    updated = serializers.BooleanField(help_text="Whether memory holds something new now.")
    event_id = serializers.UUIDField()
    status = StrictChoiceField(choices=choices(Event.Status.values))
    chunks = ChunkResultSerializer(many=True)


class MemoryStatusAnswer(serializers.Serializer[Any]):
    workspace_id = serializers.CharField()
    synced = serializers.BooleanField(help_text="No work is left to do.")
    leaves = serializers.IntegerField()
    summaries = serializers.IntegerField()
    trees = serializers.IntegerField()
    events = serializers.DictField(child=serializers.IntegerField())
    backlog = serializers.DictField(child=serializers.IntegerField())
    oldest_age_s = serializers.FloatField()
    open_gaps = serializers.IntegerField()


class SyncAnswer(MemoryStatusAnswer):
    queued = serializers.BooleanField(help_text="Work is still left after the time.")
    reason = serializers.CharField(allow_null=True)

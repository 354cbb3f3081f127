"""Events: what may be sent, and what an event became."""

import json
from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from holamem.clock import offset_minutes
from holamem.http.fields import (
    AwareDateTimeField,
    NameField,
    ObjectField,
    QueryBooleanField,
    QueryIntegerField,
    QuerySerializer,
    SizedTextField,
    StrictBooleanField,
    StrictChoiceField,
    StrictListField,
    StrictSerializer,
    StrictUUIDField,
    TextField,
    choices,
)
from holamem.text.normalise import is_blank
from workspaces.api.base import REF_CHARACTERS, UserQuery
from workspaces.api.pagination import PageQuery, page_of
from workspaces.models.log import Category, Chunk, Event
from workspaces.services.intake import BATCH_EVENTS, EVENT_TEXT_BYTES, EventDraft

METADATA_BYTES = 64_000  # is read with every search result
EVIDENCE_EVENTS = 100
DEFAULT_WAIT_SECONDS = 30
MAX_WAIT_SECONDS = 60
EXAMPLE_TIME = "RFC 3339 with a zone, such as 2026-05-20T09:30:00+08:00."


class MetadataField(ObjectField):
    default_error_messages = {"too_large": "The metadata is larger than {max_bytes} bytes."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        found = super().to_internal_value(data)
        if len(json.dumps(found, ensure_ascii=False).encode()) > METADATA_BYTES:
            self.fail("too_large", max_bytes=METADATA_BYTES)
        return found


class ReceiveQuery(QuerySerializer):
    wait = QueryBooleanField(
        default=False, help_text="Answer when every chunk has its outcome, or at the deadline."
    )
    timeout_s = QueryIntegerField(
        min_value=1,
        max_value=MAX_WAIT_SECONDS,
        default=DEFAULT_WAIT_SECONDS,
        help_text="The deadline of `wait`, in seconds.",
    )
    dry_run = QueryBooleanField(default=False, help_text="Decide, but write nothing.")


class EventListQuery(PageQuery, UserQuery):
    status = StrictChoiceField(
        choices=choices(Event.Status.values), required=False, help_text="Events in this state."
    )
    kind = StrictChoiceField(
        choices=choices(Event.Kind.values), required=False, help_text="Events of this kind."
    )
    session = TextField(required=False, max_length=200, help_text="Events of this session.")


class EventSerializer(StrictSerializer):
    """One raw memory signal."""

    kind = StrictChoiceField(
        choices=choices(Event.Kind.values), help_text="Decides which admission rules hold."
    )
    text = SizedTextField(
        max_bytes=EVENT_TEXT_BYTES,
        required=False,
        blank_allowed=True,
        help_text="At most 1 MB of UTF-8, not blank; left out, or empty, with `deleted`.",
    )
    occurred_at = AwareDateTimeField(required=False, help_text=EXAMPLE_TIME)
    user_id = NameField(
        required=False, max_length=REF_CHARACTERS, help_text="The caller's own id of an end user."
    )
    actor = NameField(required=False, max_length=200, help_text="Who spoke.")
    session = NameField(
        required=False,
        max_length=200,
        help_text="Any name; turns of one session explain each other.",
    )
    agent = NameField(required=False, max_length=200, help_text="Which agent sent it.")
    run = NameField(required=False, max_length=200, help_text="Which run of the agent sent it.")
    source: Any = NameField(
        required=False, max_length=200, help_text="Where it comes from, such as a channel."
    )
    external_id = NameField(
        required=False, max_length=300, help_text="The source's own id: sent twice, stored once."
    )
    category = StrictChoiceField(
        choices=choices(Category.values), required=False, help_text="`interaction` when left out."
    )
    provider = NameField(
        required=False, max_length=60, help_text="Outside system of an integration event."
    )
    account = NameField(
        required=False,
        max_length=200,
        help_text="Account there; with `provider` it names the tree.",
    )
    succeeded = StrictBooleanField(required=False, help_text="Of a tool_result.")
    deleted = StrictBooleanField(
        required=False,
        help_text=(
            "True: the object that `external_id` names was deleted at its source, at"
            " `occurred_at`. Its leaves become inactive; only a later revision brings it back."
            " In the integration category only."
        ),
    )
    evidence_event_ids = StrictListField(
        child=StrictUUIDField(),
        max_length=EVIDENCE_EVENTS,
        required=False,
        help_text="Tool results that show what an assistant turn claims.",
    )
    admission = StrictChoiceField(
        choices=choices(["auto", "accepted"]),
        required=False,
        help_text="`accepted`: the caller vouches for the text; no admission judgement.",
    )
    metadata = MetadataField(required=False, help_text="Kept and returned as it is.")

    def to_internal_value(self, data: Any) -> Any:
        """What is not deleted needs a text; named together with all else that is wrong."""
        problem = _text_problem(data)
        try:
            known = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if problem is None or not isinstance(error.detail, dict):
                raise
            raise serializers.ValidationError({**problem, **error.detail}) from error
        if problem is not None:
            raise serializers.ValidationError(problem)
        return {"text": "", **known}


def _text_problem(data: Any) -> dict[str, list[serializers.ErrorDetail]] | None:
    if not isinstance(data, Mapping) or data.get("deleted") is True:
        return None
    if "text" not in data:
        return {"text": [serializers.ErrorDetail("This field is required.", "required")]}
    if isinstance(data["text"], str) and is_blank(data["text"]):
        return {"text": [serializers.ErrorDetail("The text is blank.", "blank")]}
    return None


def event_draft(data: Mapping[str, Any]) -> EventDraft:
    """A validated EventSerializer as the domain's draft."""
    values = dict(data)
    evidence = tuple(values.pop("evidence_event_ids", ()))
    return EventDraft(
        **values,
        evidence_event_ids=evidence,
        offset_minutes=offset_minutes(values.get("occurred_at")),
    )


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "object"}},
            {"type": "null"},
        ]
    }
)
class ContentField(serializers.JSONField):
    """Text, or a list of content parts as OpenAI and Anthropic write them, or null."""

    default_error_messages = {
        "invalid_type": "Text or a list of parts is expected.",
        "text_too_large": "The content is larger than {max_bytes} bytes.",
    }

    def to_internal_value(self, data: Any) -> Any:
        parts = data if isinstance(data, list) else []
        if not isinstance(data, str) and not isinstance(data, list):
            self.fail("invalid_type")
        if not all(isinstance(part, dict) for part in parts):
            self.fail("invalid_type")
        size = len(json.dumps(data, ensure_ascii=False).encode())
        if size > EVENT_TEXT_BYTES:
            self.fail("text_too_large", max_bytes=EVENT_TEXT_BYTES)
        return data


class MessageSerializer(StrictSerializer):
    """A chat message in the OpenAI or Anthropic shape; what carries no memory is ignored."""

    role = StrictChoiceField(choices=choices(["user", "assistant", "tool", "system", "developer"]))
    content = ContentField(allow_null=True, required=False)
    created_at = AwareDateTimeField(required=False, help_text=EXAMPLE_TIME)
    name = NameField(required=False, max_length=200)
    id = TextField(required=False, max_length=200)
    type = TextField(required=False, max_length=60)
    tool_call_id = TextField(required=False, max_length=200)
    tool_calls = serializers.JSONField(required=False, allow_null=True)
    function_call = serializers.JSONField(required=False, allow_null=True)
    audio = serializers.JSONField(required=False, allow_null=True)
    refusal = serializers.JSONField(required=False, allow_null=True)
    annotations = serializers.JSONField(required=False, allow_null=True)
    model = TextField(required=False, max_length=200)
    stop_reason = serializers.JSONField(required=False, allow_null=True)
    stop_sequence = serializers.JSONField(required=False, allow_null=True)
    usage = serializers.JSONField(required=False, allow_null=True)


class EventBatchSerializer(StrictSerializer):
    """Either `events`, or `messages` of one session."""

    events: Any = serializers.ListSerializer(
        child=EventSerializer(), required=False, allow_empty=False, max_length=BATCH_EVENTS
    )
    messages: Any = serializers.ListSerializer(
        child=MessageSerializer(), required=False, allow_empty=False, max_length=BATCH_EVENTS
    )
    user_id = NameField(required=False, max_length=REF_CHARACTERS, help_text="With messages.")
    session = NameField(required=False, max_length=200, help_text="With messages.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("events" in attrs) == ("messages" in attrs):
            raise serializers.ValidationError("Give events or messages, one of them.", "one_of")
        misplaced = [name for name in ("user_id", "session") if name in attrs and "events" in attrs]
        if misplaced:
            raise serializers.ValidationError(
                {name: ["Each event names its own."] for name in misplaced}, "misplaced"
            )
        return attrs


class ReceivedEventSerializer(serializers.Serializer[Any]):
    event_id = serializers.UUIDField()
    status = StrictChoiceField(choices=choices(Event.Status.values))


class ReceivedEventsSerializer(serializers.Serializer[Any]):
    events = ReceivedEventSerializer(many=True)


class ChunkResultSerializer(serializers.Serializer[Any]):
    """What one chunk became; leaf and tree are null when it was rejected."""

    position = serializers.IntegerField(help_text="Place in the event, from 0.")
    outcome = StrictChoiceField(
        choices=choices(Chunk.Outcome.values),
        help_text="`noop_duplicate`: the event became a further source of a known leaf.",
    )
    admission_confidence = serializers.FloatField(
        allow_null=True, help_text="0 to 1; under the workspace's threshold there is no leaf."
    )
    reason = serializers.CharField(
        allow_null=True, help_text="One word: why it was admitted or rejected."
    )
    leaf_id = serializers.UUIDField(allow_null=True)
    tree_id = serializers.UUIDField(allow_null=True)
    tree_key = serializers.CharField(allow_null=True)
    entity = serializers.CharField(allow_null=True, help_text="Name of the primary entity.")
    decision = StrictChoiceField(
        choices=choices(Chunk.Decision.values),
        allow_null=True,
        help_text="How the tree was found; null in the integration category.",
    )


class EventResultSerializer(serializers.Serializer[Any]):
    """An event with the results of its chunks; `error` is empty unless the event is dead."""

    event_id = serializers.UUIDField()
    status = StrictChoiceField(choices=choices(Event.Status.values))
    kind = StrictChoiceField(choices=choices(Event.Kind.values))
    occurred_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField()
    error = serializers.CharField()
    chunks = ChunkResultSerializer(many=True)


class DryRunSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=choices(["dry_run"]))
    chunks = ChunkResultSerializer(many=True)


class EventLineSerializer(serializers.Serializer[Any]):
    """An event in a list: without its text and its chunks."""

    event_id = serializers.UUIDField(source="id")
    kind = StrictChoiceField(choices=choices(Event.Kind.values))
    category = StrictChoiceField(choices=choices(Category.values))
    status = StrictChoiceField(choices=choices(Event.Status.values))
    user_id = serializers.CharField(allow_null=True)
    actor = serializers.CharField()
    session = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # a field named like an attribute of fields
    external_id = serializers.CharField()
    deleted = serializers.BooleanField(help_text="The object went away at its source.")
    occurred_at = serializers.DateTimeField(allow_null=True)
    received_at = serializers.DateTimeField()
    attempts = serializers.IntegerField()
    error = serializers.CharField()


EventPageSerializer = page_of(EventLineSerializer, name="EventPage")

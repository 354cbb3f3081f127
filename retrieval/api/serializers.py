"""The answers of the read side, for the OpenAPI document, and the small request bodies."""

from typing import Any, get_args

from rest_framework import serializers

from holamem.http.fields import (
    StrictChoiceField,
    StrictListField,
    StrictSerializer,
    TextField,
    choices,
)
from retrieval.models import Gap
from retrieval.types import GapKind, Kind, Level
from workspaces.api.base import UserQuery
from workspaces.api.pagination import PageQuery, page_of
from workspaces.models.log import Category, Event
from workspaces.models.trees import SourceLeaf

FRESHNESS_NOTE = "How old it is against its staleness policy."
MAX_EVIDENCE = 50
EVIDENCE_ID_CHARACTERS = 80
NOTE_CHARACTERS = 2_000


class Answer(serializers.Serializer[Any]):
    """Base of shapes that are documented here and produced by the domain's `as_dict`."""


def texts(**kwargs: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(), **kwargs)


class TimeRangeSerializer(Answer):
    start = serializers.DateTimeField(allow_null=True)
    end = serializers.DateTimeField(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        """`from` is a keyword of Python, so these two get their names here."""
        moments = super().get_fields()
        return {"from": moments["start"], "to": moments["end"]}


class IntentSerializer(Answer):
    kind = StrictChoiceField(choices=choices(get_args(Kind)))
    mode = serializers.CharField()
    categories = texts()
    time_range = TimeRangeSerializer(allow_null=True)
    entities = texts()
    sub_questions = texts()
    confidence = serializers.FloatField()


class PackItemSerializer(Answer):
    text = serializers.CharField()
    evidence_ids = texts(help_text="Each is in `evidence`.")
    freshness = serializers.CharField(help_text=FRESHNESS_NOTE)
    confidence = serializers.FloatField()
    verification = StrictChoiceField(
        choices=choices(SourceLeaf.VerificationPolicy.values),
        help_text="The policy of its evidence that asks for a check before use.",
    )


class NextSourceSerializer(Answer):
    kind = serializers.CharField(
        help_text="memory, session, local, integration:<provider>, web or person"
    )
    name = serializers.CharField()
    reason = serializers.CharField()


class NextStepSerializer(Answer):
    type = StrictChoiceField(
        choices=choices(["answer_from_memory", "verify_live_state", "ask_user", "search_source"])
    )
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # a field named like an attribute of fields
    reason = serializers.CharField()


class RetrievalPackSerializer(Answer):
    """What may be said from memory, item by item with its evidence."""

    known_facts = PackItemSerializer(many=True)
    recent_high_signal_items = PackItemSerializer(many=True)
    constraints = PackItemSerializer(many=True)
    blockers = PackItemSerializer(many=True)
    open_questions = PackItemSerializer(many=True)
    recommended_next_source = NextSourceSerializer(allow_null=True)
    recommended_next_step = NextStepSerializer()


class CitationSerializer(Answer):
    body_path = serializers.CharField()
    body_sha256 = serializers.CharField()
    start = serializers.IntegerField(help_text="Characters into the markdown.")
    end = serializers.IntegerField()


class EvidenceSourceSerializer(Answer):
    event_id = serializers.UUIDField()
    occurred_at = serializers.DateTimeField()
    metadata = serializers.DictField()


class EvidenceSerializer(Answer):
    evidence_id = serializers.CharField(help_text="What the items of the pack cite.")
    node_kind = StrictChoiceField(choices=choices(["summary", "leaf"]))
    node_id = serializers.UUIDField()
    tree_id = serializers.UUIDField()
    tree_key = serializers.CharField()
    category = StrictChoiceField(choices=choices(Category.values))
    level = serializers.IntegerField(help_text="From the root (1) down; 0 for a leaf.")
    title = serializers.CharField()
    summary = serializers.CharField()
    excerpt = serializers.CharField(help_text="The body around the sentences that matched.")
    score = serializers.FloatField(help_text="Comparable within this answer only.")
    reasons = texts(help_text="What made it a candidate, and where it hangs.")
    observed_at = serializers.DateTimeField()
    time_range = TimeRangeSerializer()
    status = serializers.CharField()
    stale = serializers.BooleanField()
    freshness = serializers.CharField(help_text=FRESHNESS_NOTE)
    confidence = serializers.FloatField()
    verification_policy = StrictChoiceField(choices=choices(SourceLeaf.VerificationPolicy.values))
    entities = texts()
    labels = texts()
    citation = CitationSerializer()
    children_count = serializers.IntegerField()
    metadata = serializers.DictField(help_text="Of the event that created the leaf.")
    sources = EvidenceSourceSerializer(many=True, help_text="Every event that yielded the leaf.")


class FoundGapSerializer(Answer):
    gap_id = serializers.UUIDField()
    question = serializers.CharField()
    kind = StrictChoiceField(choices=choices(get_args(GapKind)))
    reason = serializers.CharField()
    suggested_source = NextSourceSerializer(allow_null=True)


class CoverageSerializer(Answer):
    level = StrictChoiceField(choices=choices(get_args(Level)))
    score = serializers.FloatField(help_text="Chance, 0 to 1, that the evidence answers the query.")
    per_question = serializers.ListField(
        child=serializers.DictField(), help_text="question, level, score, evidence_ids"
    )
    used = serializers.DictField(help_text="vector, lexical, summaries, rerank, model")
    searched = serializers.DictField(help_text="trees, nodes, bodies_read, tokens")


class RetrieveAnswerSerializer(Answer):
    retrieval_id = serializers.UUIDField()
    query = serializers.CharField()
    intent = IntentSerializer()
    retrieval_pack = RetrievalPackSerializer()
    evidence = EvidenceSerializer(many=True)
    gaps = FoundGapSerializer(many=True)
    coverage = CoverageSerializer()
    prompt = serializers.CharField(help_text="The pack as one section of a prompt.")
    degraded = texts(help_text="What could not be used.")
    explain = serializers.DictField(required=False, help_text="Only when it was asked for.")


class BrowseAnswerSerializer(Answer):
    node = serializers.DictField(allow_null=True)
    parents = serializers.ListField(child=serializers.DictField(), help_text="Root first.")
    children = serializers.ListField(child=serializers.DictField())
    next_cursor = serializers.CharField(allow_null=True)


class GapListQuery(PageQuery, UserQuery):
    status = StrictChoiceField(
        choices=choices(Gap.Status.values), required=False, help_text="Gaps in this state."
    )


class GapSerializer(Answer):
    """A question that memory lacks an answer for."""

    gap_id = serializers.UUIDField(source="id")
    question = serializers.CharField()
    kind = StrictChoiceField(choices=choices(Gap.Kind.values))
    reason = serializers.CharField()
    suggested_source = NextSourceSerializer(allow_null=True)
    times_asked = serializers.IntegerField()
    first_asked_at = serializers.DateTimeField()
    last_asked_at = serializers.DateTimeField()
    status = StrictChoiceField(choices=choices(Gap.Status.values))
    answered_by = serializers.UUIDField(source="answered_by_id", allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)


GapPageSerializer = page_of(GapSerializer, name="GapPage")


class FeedbackSerializer(StrictSerializer):
    """How useful an answer was."""

    verdict = StrictChoiceField(choices=choices(["helpful", "wrong", "missing"]))
    evidence_ids = StrictListField(
        child=TextField(max_length=EVIDENCE_ID_CHARACTERS),
        max_length=MAX_EVIDENCE,
        required=False,
        help_text="Which evidence the verdict is about.",
    )
    note = TextField(required=False, max_length=NOTE_CHARACTERS)


class WorkspaceStatusSerializer(Answer):
    """`idle`: no ready, delayed or running job; parked ones do not count."""

    leaves = serializers.IntegerField(help_text="Active ones.")
    summaries = serializers.IntegerField(help_text="Sealed and stale ones.")
    trees = serializers.IntegerField()
    events = serializers.DictField(
        child=serializers.IntegerField(), help_text=f"By status: {', '.join(Event.Status.values)}."
    )
    backlog = serializers.DictField(
        child=serializers.IntegerField(), help_text="events, embeddings, seals, parked"
    )
    oldest_age_s = serializers.FloatField(help_text="Of the oldest pending job; 0 without one.")
    quotas_reached = serializers.ListField(
        child=serializers.CharField(), help_text="Quotas of the tenant for which work waits here."
    )
    open_gaps = serializers.IntegerField()
    idle = serializers.BooleanField()

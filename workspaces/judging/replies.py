"""What a model may answer; every length is bounded, so that a runaway answer is refused."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

EntityType = Literal[
    "person", "project", "workflow", "preference", "identity", "customer", "system", "topic"
]
Confidence = Annotated[float, Field(ge=0, le=1)]
ShortText = Annotated[str, Field(max_length=80)]


class AdmissionReply(BaseModel):
    confidence: Confidence
    reason: Literal[
        "durable_fact",
        "small_talk",
        "plan",
        "question",
        "request",
        "hypothetical",
        "no_execution",
        "restated",
        "recalled",
        "acknowledgement",
        "advice",
        "too_vague",
    ]


class NewEntityReply(BaseModel):
    type: EntityType
    name: ShortText
    evidence: Annotated[str, Field(max_length=400)]


class AssignmentReply(BaseModel):
    action: Literal["match_existing", "create_new", "fallback"]
    entity_id: Annotated[str, Field(max_length=64)] | None
    match_confidence: Confidence
    new_entity: NewEntityReply | None
    create_confidence: Confidence
    secondary: Annotated[list[ShortText], Field(max_length=6)]
    title: ShortText
    summary: Annotated[str, Field(max_length=400)]
    labels: Annotated[list[Annotated[str, Field(max_length=40)]], Field(max_length=5)]
    subject_key: Annotated[str, Field(max_length=120)]


class ComparisonReply(BaseModel):
    relation: Literal["same_memory", "supersedes_existing", "different", "unsure"]
    leaf_id: Annotated[str, Field(max_length=64)] | None
    confidence: Confidence


class BulletReply(BaseModel):
    text: Annotated[str, Field(max_length=600)]
    node_id: Annotated[str, Field(max_length=64)]


class SummaryReply(BaseModel):
    title: ShortText
    summary: Annotated[str, Field(max_length=400)]
    bullets: Annotated[list[BulletReply], Field(min_length=1, max_length=24)]
    labels: Annotated[list[Annotated[str, Field(max_length=40)]], Field(max_length=5)]

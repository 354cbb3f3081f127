"""What front matter and sidecars may say: types and limits of every value that becomes a row."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from workspaces.models.entities import Entity
from workspaces.models.log import Category, Event
from workspaces.models.trees import SourceLeaf, SummaryNode
from workspaces.services.rebuild.documents import Refused

Text60 = Annotated[str, Field(max_length=60)]
Text100 = Annotated[str, Field(max_length=100)]
Text200 = Annotated[str, Field(max_length=200)]
Text300 = Annotated[str, Field(max_length=300)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2_147_483_647)]
Height = Annotated[int, Field(ge=1, le=1000)]
Trust = Literal["external", "assistant", "tool", "user", "accepted"]


class Head(BaseModel):
    """Names that a later version adds are left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class EventHead(Head):
    id: UUID
    kind: Event.Kind
    category: Category
    source: Text200
    external_id: Text300
    provider: Text60
    account: Text200
    agent: Text200
    run: Text200
    text_sha256: Digest
    metadata: dict[str, JsonValue]
    succeeded: bool | None
    admission: Annotated[str, Field(max_length=10)]
    proofs: Annotated[list[UUID], Field(max_length=1000)]
    occurred_at: AwareDatetime | None
    offset_minutes: Annotated[int, Field(ge=-1440, le=1440)] | None
    received_at: AwareDatetime


class ChunkHead(Head):
    id: UUID
    position: Count
    start: Count
    end: Count
    reason: Text60
    decision: Literal["", "match_existing", "create_new", "fallback"]
    match_confidence: Share | None
    create_confidence: Share | None
    judged_by: Text100


class Policies(Head):
    verification: SourceLeaf.VerificationPolicy
    staleness: SourceLeaf.StalenessPolicy
    stale_after_days: Count | None


class NodeHead(Head):
    id: UUID
    workspace: UUID
    scope: UUID
    tree: Text300
    tree_id: UUID
    category: Category
    title: Text200
    summary: str
    observed_at: AwareDatetime
    created_at: AwareDatetime
    labels: list[Text100]
    language: Annotated[str, Field(max_length=2)]
    trust: Trust


class OwnerHead(Head):
    id: UUID
    type: Entity.Type
    name: Text200


class LeafHead(NodeHead):
    kind: Literal["leaf"]
    entity: OwnerHead | None
    origin: Event.Kind
    session: Text200
    actor: Text200
    subject_key: Text200
    confidence: Share
    policies: Policies
    supersedes: UUID | None
    moved_from: UUID | None
    history_of: UUID | None
    ended_at: AwareDatetime | None
    fingerprint: Digest
    secondary: Annotated[list[UUID], Field(max_length=1000)]
    chunk: ChunkHead | None
    event: EventHead | None


class SummaryHead(NodeHead):
    kind: Literal["summary"]
    time_range: tuple[AwareDatetime, AwareDatetime]
    height: Height
    provisional: bool
    children: Annotated[list[UUID], Field(min_length=1, max_length=10_000)]
    child_kind: SummaryNode.ChildKind
    child_set_sha256: Digest
    leaf_count: Count
    replaces: UUID | None
    model: Text100
    sealed_at: AwareDatetime


class Tombstone(Head):
    """What is left of an erased leaf."""

    origin: Event.Kind
    session: Text200
    policies: Policies
    observed_at: AwareDatetime
    created_at: AwareDatetime
    fingerprint: Annotated[str, Field(max_length=64)]
    body_sha256: Annotated[str, Field(max_length=64)]
    body_bytes: Count
    supersedes: UUID | None
    moved_from: UUID | None
    chunk: UUID | None
    confidence: Share
    trust: Trust
    language: Annotated[str, Field(max_length=2)]


class LeafState(Head):
    id: UUID
    status: SourceLeaf.Status
    superseded_by: UUID | None
    valid_until: AwareDatetime | None
    forgotten_at: AwareDatetime | None
    tombstone: Tombstone | None


class TopState(Head):
    id: UUID
    status: SummaryNode.Status
    withheld: bool


class TreeHead(Head):
    id: UUID
    key: Text300
    title: Text200
    category: Category
    scope: UUID
    provider: Text60
    account: Text200
    root: UUID | None
    created_at: AwareDatetime


class EntityHead(Head):
    id: UUID
    type: Entity.Type
    slug: Slug
    name: Text200
    aliases: list[Text200]
    description: str
    is_system: bool
    merged_into: UUID | None
    created_at: AwareDatetime


class EndUserHead(Head):
    id: UUID
    ref: Text200
    slug: Slug
    name: Text200
    created_at: AwareDatetime
    erased_at: AwareDatetime | None


class Sidecar(Head):
    format: Literal[1]
    workspace: UUID
    written_at: AwareDatetime
    tree: TreeHead
    entity: EntityHead | None
    end_user: EndUserHead | None
    leaves: list[LeafState]
    tops: list[TopState]
    returned: list[UUID]
    buffer: list[UUID]


class MirroredState(Head):
    """Of a sidecar, only which state it holds."""

    state_sha256: Digest


class TenantHead(Head):
    id: UUID
    slug: Slug
    name: Text200
    created_at: AwareDatetime


class WorkspaceHead(Head):
    id: UUID
    slug: Slug
    name: Text200
    settings: dict[str, JsonValue]
    created_at: AwareDatetime
    archived_at: AwareDatetime | None


class WorkspaceFile(Head):
    tenant: TenantHead
    workspace: WorkspaceHead


T = TypeVar("T", bound=Head)


def read_head(kind: type[T], values: Mapping[str, object]) -> T:
    """Raises Refused, naming the first field that cannot be what was written."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        field = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise Refused(f"its field {field} is missing or wrong") from error

"""What a workspace may set, with safe ranges."""

from decimal import Decimal
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator

from holamem.clock import is_known_zone


class WorkspaceSettings(BaseModel):
    """Confidences are 0..1; the defaults are the source document's thresholds."""

    model_config = ConfigDict(extra="forbid")

    admission_threshold: float = Field(default=0.5, ge=0, le=1)
    match_threshold: float = Field(default=0.60, ge=0, le=1)
    create_threshold: float = Field(default=0.68, ge=0, le=1)
    seal_threshold: int = Field(default=8, ge=2, le=64)
    time_zone: str = "UTC"
    languages: list[Literal["en", "zh"]] = ["en", "zh"]
    user_id: Literal["optional", "required"] = "optional"
    retention_days: int = Field(default=90, ge=1, le=3650)
    # The hour of the workspace's own clock at which its sessions of the day are distilled.
    distillation_hour: int = Field(default=0, ge=0, le=23)

    @field_validator("time_zone")
    @classmethod
    def is_a_known_zone(cls, value: str) -> str:
        if not is_known_zone(value):
            raise ValueError("is not a known time zone")
        return value

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)


class TenantQuotas(BaseModel):
    """What all workspaces of a tenant may hold and use together; unset: no limit.

    `leaves` are active ones. `bytes` are those of the bodies of leaves and summaries that are
    kept. A day is a day in UTC; `cost_per_day` is in US dollars. `requests_per_second` are those
    of all keys of the tenant, over the API; unset: as many as any tenant may send.
    """

    model_config = ConfigDict(extra="forbid")

    leaves: int | None = Field(default=None, ge=0, le=10**12)
    bytes: int | None = Field(default=None, ge=0, le=10**15)
    tokens_per_day: int | None = Field(default=None, ge=0, le=10**12)
    cost_per_day: Decimal | None = Field(default=None, ge=0, le=10**9, decimal_places=6)
    requests_per_second: int | None = Field(default=None, ge=1, le=100_000)

"""What a workspace may set, with safe ranges."""

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

    @field_validator("time_zone")
    @classmethod
    def is_a_known_zone(cls, value: str) -> str:
        if not is_known_zone(value):
            raise ValueError("is not a known time zone")
        return value

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

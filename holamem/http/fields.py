"""Serializer fields that take one JSON type each, and name what they refuse."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from rest_framework import serializers

from holamem.clock import now
from holamem.text.normalise import is_blank

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
FUTURE = timedelta(hours=24)  # clocks of callers may be wrong, but not by more
RFC_3339 = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})?", re.ASCII
)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
DIGITS = re.compile(r"-?[0-9]{1,18}", re.ASCII)
# Direction overrides make a name look like another one.
DIRECTION_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class StrictSerializer(serializers.Serializer[Any]):
    """An input whose unknown fields are errors, each under its own name."""

    unknown_code = "unknown_field"
    unknown_message = "This field is not known here."

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError("An object is expected.", code="object_required")
        unknown = {
            str(name): [serializers.ErrorDetail(self.unknown_message, self.unknown_code)]
            for name in data
            if name not in self.fields
        }
        try:
            known = super().to_internal_value(data)
        except serializers.ValidationError as error:
            detail = error.detail if isinstance(error.detail, dict) else {"": error.detail}
            raise serializers.ValidationError({**detail, **unknown}) from error
        if unknown:
            raise serializers.ValidationError(unknown)
        return known


class QuerySerializer(StrictSerializer):
    """Query parameters: `StrictSerializer` over a flat dict of strings."""

    unknown_code = "unknown_parameter"
    unknown_message = "This parameter is not known here."


class TextField(serializers.CharField):
    """A JSON string as it came: nothing is trimmed, and a number is no string.

    `pattern` is for the OpenAPI document, where the domain has the rule.
    """

    default_error_messages = {
        "invalid_type": "A string is expected.",
        "blank": "The text is blank.",
    }

    def __init__(
        self, *, blank_allowed: bool = False, pattern: str | None = None, **kwargs: Any
    ) -> None:
        self.blank_allowed = blank_allowed
        self.pattern = pattern
        super().__init__(trim_whitespace=False, allow_blank=blank_allowed, **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not self.blank_allowed and is_blank(data):
            self.fail("blank")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid_type")
        return str(data)


class NameField(TextField):
    """A label on one line: no control characters, nothing that turns the writing direction."""

    default_error_messages = {
        "control_character": "A name holds no control or direction characters.",
    }

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if any(c in DIRECTION_CONTROLS or unicodedata.category(c) in ("Cc", "Zl") for c in name):
            self.fail("control_character")
        return name


class SizedTextField(TextField):
    """Text with a limit in UTF-8 bytes; over it the whole request is a 413."""

    default_error_messages = {"text_too_large": "The text is larger than {max_bytes} bytes."}

    def __init__(self, *, max_bytes: int, **kwargs: Any) -> None:
        self.max_bytes = max_bytes
        super().__init__(**kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and len(data.encode("utf-8", "replace")) > self.max_bytes:
            self.fail("text_too_large", max_bytes=self.max_bytes)
        return super().run_validation(data)


class StrictIntegerField(serializers.IntegerField):
    """A JSON integer between bounds; not "5", 5.0 or true."""

    default_error_messages = {"invalid_type": "A whole number is expected."}

    def __init__(self, *, min_value: int, max_value: int, **kwargs: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **kwargs)

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid_type")
        return int(data)


class StrictNumberField(serializers.FloatField):
    """A finite JSON number between bounds; not "5" or true."""

    default_error_messages = {"invalid_type": "A number is expected."}

    def __init__(self, *, min_value: float, max_value: float, **kwargs: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **kwargs)

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid_type")
        return float(data)


class QueryIntegerField(StrictIntegerField):
    """ASCII digits in a query string."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or DIGITS.fullmatch(data) is None:
            self.fail("invalid_type")
        return int(data)


class StrictBooleanField(serializers.BooleanField):
    """true or false; not 1, "yes" or "on"."""

    default_error_messages = {"invalid_type": "true or false is expected."}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid_type")
        return bool(data)


class QueryBooleanField(serializers.BooleanField):
    default_error_messages = {"invalid_type": "true or false is expected."}

    def to_internal_value(self, data: Any) -> bool:
        if data not in ("true", "false"):
            self.fail("invalid_type")
        return bool(data == "true")


class StrictUUIDField(serializers.UUIDField):
    """A UUID in a string; DRF itself takes an integer for one."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str) or len(data) not in (32, 36):
            self.fail("invalid")
        return UUID(str(super().to_internal_value(data)))


class StrictChoiceField(serializers.ChoiceField):
    """Names what it takes instead of repeating what it got."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError(
                f"One of these is expected: {', '.join(map(str, self.choices))}.",
                code="invalid_choice",
            )
        return data


class StrictListField(serializers.ListField):
    """At most `max_length` items; the count is checked before any item is."""

    def __init__(self, *, max_length: int, min_length: int | None = None, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, min_length=min_length, **kwargs)
        self.most = max_length

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            raise serializers.ValidationError("A list is expected.", code="invalid_type")
        if len(data) > self.most:
            raise serializers.ValidationError(
                f"At most {self.most} items are accepted.", code="max_length"
            )
        return list(super().to_internal_value(data))


class ObjectField(serializers.JSONField):
    """A JSON object of the caller's own, bounded by the body's limits."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("An object is expected.", code="invalid_type")
        return data


class AwareDateTimeField(serializers.DateTimeField):
    """RFC 3339 with a zone, kept with its offset. Years before 1970 are refused.

    `future` allows any later moment (a filter); otherwise 24 hours ahead at most.
    """

    default_error_messages = {
        "invalid_type": "A date and time is expected, such as 2026-05-20T09:30:00+08:00.",
        "timezone_required": "The time needs a zone, such as +08:00 or Z.",
        "too_early": "The time is before 1970.",
        "in_the_future": "The time is more than 24 hours ahead.",
    }

    def __init__(self, *, future: bool = False, **kwargs: Any) -> None:
        self.future = future
        super().__init__(**kwargs)

    def to_internal_value(self, value: Any) -> datetime:
        match = RFC_3339.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            self.fail("invalid_type")
        if match.group(2) is None:
            self.fail("timezone_required")
        moment = self._parsed(match.group(0))
        if moment < EARLIEST:
            self.fail("too_early")
        if not self.future and moment > now() + FUTURE:
            self.fail("in_the_future")
        return moment

    def _parsed(self, text: str) -> datetime:
        try:
            moment = datetime.fromisoformat(text.upper())
            moment.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail("invalid_type")
        return moment


class DayField(serializers.DateField):
    """A day from 1970 on."""

    default_error_messages = {
        "invalid": "A day is expected, such as 2026-05-20.",
        "too_early": "The day is before 1970.",
    }

    def to_internal_value(self, value: Any) -> date:
        if not isinstance(value, str) or DAY.fullmatch(value) is None:
            self.fail("invalid")
        try:
            day = date.fromisoformat(value)
        except ValueError:
            self.fail("invalid")
        if day < EARLIEST.date():
            self.fail("too_early")
        return day


def choices(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]

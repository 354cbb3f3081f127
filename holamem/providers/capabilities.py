"""What a model service turned out to accept, remembered for the life of the process."""

import re
from dataclasses import dataclass, replace

RUNGS = ("json_schema", "json_object", "plain")

# Keywords that some strict modes refuse and that local grammars need, or they generate for ever.
BOUND_KEYWORDS = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "format",
)
_NAMED_BOUND = re.compile(rf"""['"`](?:{"|".join(BOUND_KEYWORDS)})['"`]""")
_NAMED_FORMAT = re.compile(
    r"response[_ ]?format|json[_ ]?(?:schema|object|mode)|structured[_ ]?outputs?|guided[_ ]",
    re.IGNORECASE,
)
_ABOUT_ONE_SCHEMA = re.compile(r"invalid (?:json )?schema", re.IGNORECASE)

Service = tuple[str, str]
"""(base URL, model name)"""


@dataclass(frozen=True, slots=True)
class Capabilities:
    rung: str = RUNGS[0]
    bounds: bool = True
    temperature: bool = True

    def next_rung(self) -> "Capabilities":
        position = RUNGS.index(self.rung)
        return replace(self, rung=RUNGS[min(position + 1, len(RUNGS) - 1)])

    def weaker(self, service_text: str) -> "Capabilities | None":
        """Leave out what the refusal names. None: it names nothing that could be left out."""
        if self.temperature and "temperature" in service_text.lower():
            return replace(self, temperature=False)
        if self.rung == "json_schema" and self.bounds and _NAMED_BOUND.search(service_text):
            return replace(self, bounds=False)
        if self.rung != RUNGS[-1] and _NAMED_FORMAT.search(service_text):
            return self.next_rung()
        return None


def concerns_one_schema(service_text: str) -> bool:
    """The refusal is about this schema only: other schemas may still work on this rung."""
    return _ABOUT_ONE_SCHEMA.search(service_text) is not None


# Without a lock: each access is one dictionary operation, and a lost update costs one extra call.
_known: dict[Service, Capabilities] = {}


def recall(service: Service) -> Capabilities:
    return _known.get(service, Capabilities())


def remember(service: Service, capabilities: Capabilities) -> None:
    _known[service] = capabilities


def forget_all() -> None:
    _known.clear()

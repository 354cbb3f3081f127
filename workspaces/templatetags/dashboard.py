"""Words, chips, times and numbers in the dashboard's templates."""

from datetime import datetime
from urllib.parse import quote

from django import template
from django.utils import timezone
from django.utils.dates import WEEKDAYS_ABBR
from django.utils.timesince import timesince
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from holamem.clock import now
from workspaces.dashboard.spoken import spoken
from workspaces.dashboard.words import WORDS, Chip, chip_for, word_for, word_of
from workspaces.services.owners import FALLBACK_NAME

register = template.Library()
MINUTE_SECONDS = 60
FRAGMENT_CHARACTERS = 60


@register.filter
def word(code: object) -> str:
    return word_for(code)


@register.filter
def word_or_said(text: str, kind: str) -> str:
    """A code gets its word; what a person wrote stays as it is, to its last full stop."""
    return str(WORDS.get(f"{kind}_{text}", text))


@register.filter
def word_as(code: object, kind: str) -> str:
    return word_of(code, kind)


CODED_FACTS = {
    "verification_policy",
    "staleness_policy",
    "trust",
    "language",
    "origin_kind",
    "model",
}


@register.filter
def fact(value: object, name: str) -> str:
    """Facts that hold a code get its word; names and subjects stay as they were said."""
    return word_for(value) if name in CODED_FACTS and str(value) in WORDS else str(value)


@register.filter
def word_if_known(value: object) -> str:
    """A code gets its word; a name that a person wrote stays as it is."""
    return word_for(value) if str(value) in WORDS else str(value)


@register.filter
def entity_name(name: str, is_system: bool) -> str:
    """The system's own entity is named in the person's language."""
    return _("Uncategorized") if is_system else name


@register.filter
def tree_name(title: str) -> str:
    """The tree of what belongs to nobody is named in the person's language, too."""
    return entity_name(title, title == FALLBACK_NAME)


@register.filter
def actor(label: str) -> str:
    """`user:name` and `key:name` as a person reads them."""
    kind, _colon, name = label.partition(":")
    if kind == "key" and name:
        return _("key %(name)s") % {"name": name}
    return name if kind == "user" and name else label


@register.filter
def sentence(text: str) -> str:
    """A reason in the person's language where the product said it, as it is where a model did."""
    return spoken(text)


@register.inclusion_tag("dashboard/_chip.html")
def chip(code: str) -> dict[str, Chip]:
    return {"chip": chip_for(code)}


@register.inclusion_tag("dashboard/_moment.html")
def moment(value: datetime | str | None, *, relative: bool = True) -> dict[str, object]:
    """Absolute time in the page's zone, with the distance from now beside it."""
    at = datetime.fromisoformat(value) if isinstance(value, str) and value else value or None
    return {"at": at, "distance": distance(at) if relative and isinstance(at, datetime) else ""}


def distance(at: datetime) -> str:
    seconds = (now() - at).total_seconds()
    if abs(seconds) < MINUTE_SECONDS:
        return _("just now")
    if seconds < 0:
        return _("in %(time)s") % {"time": timesince(now(), at, depth=1)}
    return _("%(time)s ago") % {"time": timesince(at, depth=1)}


@register.filter
def is_moment(value: object) -> bool:
    return isinstance(value, datetime)


AXIS_UNITS = {"zh": ((100_000_000, "亿"), (10_000, "万")), "en": ((1_000_000, "M"), (1_000, "k"))}


@register.filter
def on_axis(value: int) -> str:
    """Short, for axes only: 12k and 3M, or 1.2万; everywhere else numbers are full."""
    units = AXIS_UNITS["zh" if (get_language() or "").startswith("zh") else "en"]
    for size, sign in units:
        if value >= size:
            return f"{value / size:g}{sign}"
    return str(value)


@register.filter
def text_fragment(text: str) -> str:
    """The end of an address at which a browser shows these words of the page, marked.

    A browser that does not know such addresses shows the page from its top.
    """
    words = " ".join(text.split())[:FRAGMENT_CHARACTERS].rstrip("…")
    # A dash would be read as a part of the address itself.
    return f"#:~:text={quote(words, safe='').replace('-', '%2D')}" if words else ""


@register.filter
def citation_fragment(node_id: object) -> str:
    """Where a summary's body cites this node, as `render_markdown` writes it."""
    return text_fragment(f"→ {short_id(node_id)}")


@register.filter
def dollars(millionths: int) -> str:
    """For axes: millionths of a dollar as dollars, without digits that say nothing."""
    return f"{millionths / 1_000_000:g}"


@register.filter
def grouped(value: object) -> str:
    """A count in full: 100,000."""
    return f"{value:,}" if isinstance(value, int) else str(value)


@register.filter
def duration(seconds: float | None) -> str:
    """A length of time in its largest unit, a dash where there is none."""
    if seconds is None:
        return "–"
    for size, words in ((86_400, _("%s d")), (3_600, _("%s h")), (60, _("%s min"))):
        if seconds >= size:
            return words % f"{seconds / size:.3g}"
    return _("%s s") % f"{seconds:.2g}"


@register.filter
def percent(share: float | None) -> str:
    """0.74 as 74 %, a dash where there is none."""
    return "–" if share is None else f"{share * 100:.0f} %"


@register.filter
def weekday(number: int) -> str:
    """0 is Monday."""
    return str(WEEKDAYS_ABBR[number])


@register.filter
def two_digits(value: float | None) -> str:
    """A confidence as 0.00 to 1.00, a dash where none was asked for."""
    return "–" if value is None else f"{value:.2f}"


@register.filter
def short_id(value: object) -> str:
    """The end of an id: the front of a UUIDv7 is its time and alike for neighbours."""
    return str(value)[-8:]


@register.simple_tag
def zone_label() -> str:
    """`Asia/Shanghai, UTC+08:00`: which clock the times of this page follow."""
    name = timezone.get_current_timezone_name()
    offset = timezone.localtime(now()).strftime("%z")
    label = f"UTC{offset[:3]}:{offset[3:]}" if offset.strip("+-0") else "UTC"
    return label if name in ("UTC", label) else f"{timezone.get_current_timezone()}, {label}"

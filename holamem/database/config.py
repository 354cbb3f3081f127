"""A database URL as Django's DATABASES entry."""

from typing import Any

from psycopg.conninfo import conninfo_to_dict

# Reconnecting on every call of the broker cost 19 ms each. Web threads live as long as their
# process, so they keep theirs too; a pool cost 4 ms of a short request, and one that is opened
# before a fork returned other processes' rows.
CONNECTION_SECONDS = 60
# Statements are prepared where `fetch_rows` asks for it, and nowhere else.
NEVER_BY_COUNT = 1_000_000_000


def database_settings(url: str) -> dict[str, Any]:
    """One connection a thread, checked at the start of each request or task."""
    info = {key: value for key, value in conninfo_to_dict(url).items() if value is not None}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": info.pop("dbname", "holamem"),
        "USER": info.pop("user", ""),
        "PASSWORD": info.pop("password", ""),
        "HOST": info.pop("host", ""),
        "PORT": str(info.pop("port", "")),
        "OPTIONS": {**info, "prepare_threshold": NEVER_BY_COUNT},
        "CONN_HEALTH_CHECKS": True,
        "CONN_MAX_AGE": CONNECTION_SECONDS,
    }
